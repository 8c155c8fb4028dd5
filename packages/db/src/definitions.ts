import {
  type AccessLimit,
  type ActivityDoc,
  type ActivityState,
  type ChallengeDoc,
  DEFAULT_WAITING,
  NO_CHALLENGE,
  type Policy,
  type PolicyPlan,
  type SkuDoc,
  type WaitingDoc,
} from '@bigtap/domain'
import { type AuditEntry, appendAudit } from './audit.ts'
import { guarded } from './errors.ts'
import type { Activity, Prisma, PrismaClient, Sku } from './generated/client.ts'
import { toNumber } from './numbers.ts'

/** What an operator says about an activity. */
export type NewActivity = Omit<ActivityDoc, 'id' | 'state' | 'stage' | 'skuIds'>
/** What an operator says about a SKU. */
export type NewSku = Omit<SkuDoc, 'id' | 'activityId'> & { readonly policyPlan?: PolicyPlan }

/** What the database adds to a document. `version` counts its changes; times in ms since the epoch. */
export interface Stored {
  readonly version: number
  readonly createdAt: number
  readonly updatedAt: number
}
/** An activity as it is stored: its catalog document but for the stage, and the revision that was published last. */
export interface ActivityRow extends Omit<ActivityDoc, 'stage'>, Stored {
  readonly revision: number
}
/** A SKU as it is stored: its catalog document with the base policy, and the plan of its policy. */
export interface SkuRow extends SkuDoc, Stored {
  readonly policyPlan: PolicyPlan
}

/** What the audit says of a change; it is written in the change's own transaction, and only when something was changed. */
export type AuditOf<T> = (row: T) => AuditEntry

/** Under which conditions a change is made. */
export interface Guard {
  readonly version?: number
  /** States of the activity that allow it. */
  readonly states?: readonly ActivityState[]
}

/** What became of a deletion. */
export type Deletion = 'deleted' | 'missing' | 'forbidden'

/** What is sold and how, as operators defined it. Where a guard forbids a change, undefined is returned. */
export interface Definitions {
  createActivity(activity: NewActivity, audit?: AuditOf<ActivityRow>): Promise<ActivityRow>
  getActivity(activityId: number): Promise<ActivityRow | undefined>
  listActivities(): Promise<ActivityRow[]>
  patchActivity(
    activityId: number,
    patch: Partial<NewActivity>,
    guard?: Guard,
    audit?: AuditOf<ActivityRow>,
  ): Promise<ActivityRow | undefined>
  /** Moves an activity from one of the states to another; `revision` is noted where it is given. */
  setActivityState(
    activityId: number,
    from: readonly ActivityState[],
    to: ActivityState,
    revision?: number,
    audit?: AuditOf<ActivityRow>,
  ): Promise<ActivityRow | undefined>
  /** Notes the catalog revision that an activity was published with. */
  setRevision(activityId: number, revision: number): Promise<void>
  /** Deletes a draft with its SKUs. */
  deleteActivity(activityId: number, audit?: AuditEntry): Promise<Deletion>
  /** Undefined when there is no such activity, or it is in a state that the guard does not allow. */
  createSku(
    activityId: number,
    sku: NewSku,
    guard?: Pick<Guard, 'states'>,
    audit?: AuditOf<SkuRow>,
  ): Promise<SkuRow | undefined>
  getSku(activityId: number, skuId: number): Promise<SkuRow | undefined>
  listSkus(activityId: number): Promise<SkuRow[]>
  patchSku(
    activityId: number,
    skuId: number,
    patch: Partial<NewSku>,
    guard?: Guard,
    audit?: AuditOf<SkuRow>,
  ): Promise<SkuRow | undefined>
  /** Deletes a SKU of a draft. */
  deleteSku(activityId: number, skuId: number, audit?: AuditEntry): Promise<Deletion>
  /** A value kept under a name (the last catalog revision …), undefined when there is none. */
  getSetting(key: string): Promise<unknown>
  setSetting(key: string, value: unknown): Promise<void>
}

/** Most activities that are listed, the newest first. */
const ACTIVITIES_MAX = 1_000
const withSkus = { skus: { select: { id: true }, orderBy: { id: 'asc' } } } as const
type ActivityWithSkus = Activity & { skus: { id: number }[] }

/** The repository of definitions. */
export function createDefinitions(prisma: PrismaClient, now: () => number): Definitions {
  return { ...activities(prisma, now), ...skus(prisma, now), ...settings(prisma, now) }
}

function activities(prisma: PrismaClient, now: () => number) {
  const read = async (tx: Prisma.TransactionClient, id: number) => {
    const row = await tx.activity.findUnique({ where: { id }, include: withSkus })
    return row ? toActivity(row) : undefined
  }
  const change = (
    id: number,
    changes: Prisma.ActivityUpdateManyMutationInput,
    guard: Guard,
    audit: AuditOf<ActivityRow> | undefined,
  ) =>
    guarded('changing an activity', () =>
      prisma.$transaction(async (tx) => {
        const data = { ...changes, version: { increment: 1 }, updatedAt: now() }
        const where = { id, ...versionIs(guard), ...(guard.states ? { state: { in: [...guard.states] } } : {}) }
        const { count } = await tx.activity.updateMany({ where, data })
        return count > 0 ? audited(tx, await read(tx, id), audit) : undefined
      }),
    )
  const audited = auditor(now)
  return {
    getActivity: (id) => guarded('reading an activity', () => read(prisma, id)),
    async createActivity(activity, audit) {
      const at = now()
      const data = { ...activityColumns(activity), state: 'draft', createdAt: at, updatedAt: at }
      return guarded('storing an activity', () =>
        prisma.$transaction(async (tx) => {
          const row = await tx.activity.create({ data: data as Prisma.ActivityCreateInput, include: withSkus })
          return audited(tx, toActivity(row), audit)
        }),
      )
    },
    async listActivities() {
      const query = { orderBy: { id: 'desc' }, take: ACTIVITIES_MAX, include: withSkus } as const
      return (await guarded('listing activities', () => prisma.activity.findMany(query))).map(toActivity)
    },
    patchActivity: (id, patch, guard = {}, audit) => change(id, activityColumns(patch), guard, audit),
    setActivityState: (id, from, to, revision, audit) =>
      change(id, { state: to, ...(revision === undefined ? {} : { revision }) }, { states: from }, audit),
    async setRevision(id, revision) {
      const query = { where: { id }, data: { revision } }
      await guarded('noting a revision', () => prisma.activity.updateMany(query))
    },
    deleteActivity: (id, audit) =>
      guarded('deleting an activity', () =>
        prisma.$transaction(async (tx) => {
          const verdict = await lockDraft(tx, id)
          if (verdict !== 'deleted') return verdict
          await tx.sku.deleteMany({ where: { activityId: id } })
          await tx.activity.delete({ where: { id } })
          if (audit !== undefined) await appendAudit(tx, now(), audit)
          return verdict
        }),
      ),
  } satisfies Partial<Definitions>
}

function skus(prisma: PrismaClient, now: () => number) {
  const read = async (tx: Prisma.TransactionClient, activityId: number, id: number) => {
    const row = await tx.sku.findFirst({ where: { id, activityId } })
    return row ? toSku(row) : undefined
  }
  const audited = auditor(now)
  return {
    getSku: (activityId, id) => guarded('reading a SKU', () => read(prisma, activityId, id)),
    async createSku(activityId, sku, guard = {}, audit) {
      const at = now()
      const columns = { ...skuColumns(sku), activityId, createdAt: at, updatedAt: at }
      return guarded('storing a SKU', () =>
        prisma.$transaction(async (tx) => {
          const state = await lockActivity(tx, activityId)
          if (state === undefined || (guard.states && !guard.states.includes(state))) return undefined
          const row = await tx.sku.create({ data: columns as Prisma.SkuUncheckedCreateInput })
          return audited(tx, toSku(row), audit)
        }),
      )
    },
    async listSkus(activityId) {
      const query = { where: { activityId }, orderBy: { id: 'asc' } } as const
      return (await guarded('listing SKUs', () => prisma.sku.findMany(query))).map(toSku)
    },
    patchSku: (activityId, id, patch, guard = {}, audit) =>
      guarded('changing a SKU', () =>
        prisma.$transaction(async (tx) => {
          const data = { ...skuColumns(patch), version: { increment: 1 }, updatedAt: now() }
          const activity = guard.states ? { activity: { state: { in: [...guard.states] } } } : {}
          const where = { id, activityId, ...versionIs(guard), ...activity }
          const { count } = await tx.sku.updateMany({ where, data })
          return count > 0 ? audited(tx, await read(tx, activityId, id), audit) : undefined
        }),
      ),
    deleteSku: (activityId, id, audit) =>
      guarded('deleting a SKU', () =>
        prisma.$transaction(async (tx) => {
          const verdict = await lockDraft(tx, activityId)
          if (verdict !== 'deleted') return verdict
          const { count } = await tx.sku.deleteMany({ where: { id, activityId } })
          if (count > 0 && audit !== undefined) await appendAudit(tx, now(), audit)
          return count > 0 ? 'deleted' : 'missing'
        }),
      ),
  } satisfies Partial<Definitions>
}

function settings(prisma: PrismaClient, now: () => number) {
  return {
    async getSetting(key) {
      return (await guarded('reading a setting', () => prisma.setting.findUnique({ where: { key } })))?.value
    },
    async setSetting(key, value) {
      const row = { value: value as Prisma.InputJsonValue, updatedAt: now() }
      await guarded('writing a setting', () =>
        prisma.setting.upsert({ where: { key }, create: { key, ...row }, update: row }),
      )
    },
  } satisfies Partial<Definitions>
}

/** Writes what the audit says of a row in the row's transaction, and passes the row on. */
function auditor(now: () => number) {
  return async <Row extends object | undefined>(
    tx: Prisma.TransactionClient,
    row: Row,
    audit: AuditOf<Exclude<Row, undefined>> | undefined,
  ): Promise<Row> => {
    if (row !== undefined && audit !== undefined) await appendAudit(tx, now(), audit(row as Exclude<Row, undefined>))
    return row
  }
}

/** Takes the activity's row for this transaction, so that its state cannot change under a change of its SKUs. */
async function lockActivity(tx: Prisma.TransactionClient, id: number): Promise<ActivityState | undefined> {
  const rows = await tx.$queryRaw<{ state: ActivityState }[]>`SELECT state FROM activities WHERE id = ${id} FOR UPDATE`
  return rows.at(0)?.state
}

async function lockDraft(tx: Prisma.TransactionClient, id: number): Promise<Deletion> {
  const state = await lockActivity(tx, id)
  if (state === undefined) return 'missing'
  return state === 'draft' ? 'deleted' : 'forbidden'
}

function versionIs({ version }: Guard) {
  return version === undefined ? {} : { version }
}

/** Only what is named is written: Prisma leaves out what is undefined. */
function activityColumns({ reservation, accessLimits, waiting, challenge, ...plain }: Partial<NewActivity>) {
  const { title, opensAt, closesAt, rule, admission } = plain
  return defined({
    ...{ title, opensAt, closesAt, rule, admission },
    reservationRequired: reservation?.required,
    reservationOpensAt: reservation?.opensAt,
    reservationClosesAt: reservation?.closesAt,
    accessLimits: accessLimits as Prisma.InputJsonValue | undefined,
    waiting: waiting as Prisma.InputJsonValue | undefined,
    challenge: challenge as Prisma.InputJsonValue | undefined,
  })
}

function skuColumns(sku: Partial<NewSku>) {
  const { title, priceCents, currency, imageUrl, stock, limitPerBuyer, policy, policyPlan, paused } = sku
  return defined({
    ...{ title, priceCents, currency, imageUrl, stock, limitPerBuyer, paused },
    policy: policy as Prisma.InputJsonValue | undefined,
    policyPlan: policyPlan as Prisma.InputJsonValue | undefined,
  })
}

function defined<T extends object>(columns: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(columns).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

function toActivity(row: ActivityWithSkus): ActivityRow {
  return {
    id: row.id,
    title: row.title,
    state: row.state as ActivityState,
    opensAt: toNumber(row.opensAt),
    closesAt: toNumber(row.closesAt),
    rule: row.rule as ActivityDoc['rule'],
    admission: row.admission as ActivityDoc['admission'],
    waiting: { ...DEFAULT_WAITING, ...(row.waiting as Partial<WaitingDoc>) },
    challenge: { ...NO_CHALLENGE, ...(row.challenge as Partial<ChallengeDoc>) },
    reservation: {
      required: row.reservationRequired,
      opensAt: toNumber(row.reservationOpensAt),
      closesAt: toNumber(row.reservationClosesAt),
    },
    skuIds: row.skus.map(({ id }) => id),
    accessLimits: row.accessLimits as unknown as AccessLimit[],
    revision: toNumber(row.revision),
    ...stored(row),
  }
}

function toSku(row: Sku): SkuRow {
  const { id, activityId, title, priceCents, currency, imageUrl, stock, limitPerBuyer, paused } = row
  const plain = { id, activityId, title, priceCents, currency, imageUrl, stock, limitPerBuyer, paused }
  const policies = { policy: row.policy as unknown as Policy, policyPlan: row.policyPlan as unknown as PolicyPlan }
  return { ...plain, ...policies, ...stored(row) }
}

function stored(row: Activity | Sku): Stored {
  return { version: row.version, createdAt: toNumber(row.createdAt), updatedAt: toNumber(row.updatedAt) }
}
