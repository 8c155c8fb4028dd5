/** What operators do with sales: PostgreSQL first, then memory, then the catalog; every change is audited. */

import type { AuditEntry, Db } from '@bigtap/db'
import {
  type ActivityDoc,
  type ActivityEvent,
  activityKey,
  activityStep,
  type Parsed,
  type PolicyPlan,
  type SkuDoc,
  skuKey,
} from '@bigtap/domain'
import type { Clock, Random } from '@bigtap/kernel'
import type { Ledger, Store } from '@bigtap/store'
import { drawHashes } from '@bigtap/token'
import { type Book, moveTo, type Sale } from './book.ts'
import type { CatalogPublisher } from './catalog-publisher.ts'
import { layersLeft, waitingFor } from './core/act-keeper.ts'
import {
  activityChangeObstacle,
  both,
  isFreeToChange,
  readActivityPatch,
  readNewActivity,
  readNewSku,
  readPlan,
  readSkuPatch,
  skuChangeObstacle,
} from './core/change-rules.ts'
import { SEED_BYTES, withoutSeed, withSeed } from './core/draw-seed.ts'
import type { DocumentHistory } from './document-history.ts'
import { onRedis } from './faults.ts'
import { Problem } from './http/edge.ts'
import type { Actor } from './http/session.ts'
import { factOf, type Keepers } from './keepers.ts'
import type { NodeWatch } from './node-watch.ts'
import type { PolicyHistory } from './policy-history.ts'
import type { RecordKeeper } from './record-keeper.ts'
import type { How, SaleTrial } from './sale-trial.ts'

/** Collaborators. */
export interface DeskParts {
  readonly db: Db
  readonly store: Store
  readonly ledger: Ledger
  readonly book: Book
  readonly publisher: CatalogPublisher
  readonly keepers: Keepers
  readonly watch: NodeWatch
  readonly record: RecordKeeper
  readonly policies: PolicyHistory
  readonly versions: DocumentHistory<{ readonly fields: ActivityFields }>
  readonly trial: SaleTrial
  readonly clock: Clock
  readonly random: Random
  readonly loader: { readonly isLoaded: boolean }
}

type Input = Readonly<Record<string, unknown>>
/** What operators say of an activity. */
export type ActivityFields = Omit<ActivityDoc, 'id' | 'state' | 'stage' | 'skuIds'>

/** Changes that may wait for their turn; more are answered 503. */
export const CHANGES_WAITING_MAX = 64

/** The desk: one change at a time. */
export class SaleDesk {
  readonly parts: DeskParts
  readonly #turns: Record<'normal' | 'urgent', Promise<unknown>> = {
    normal: Promise.resolve(),
    urgent: Promise.resolve(),
  }
  #waiting = 0

  constructor(parts: DeskParts) {
    this.parts = parts
  }

  /**
   * Runs a change alone; 503 when too many wait, or while Redis is away. What stops a sale or lets it go on (`isUrgent`) has
   * its own turn: it does not wait for a change that is being tried, which writes only what it changes.
   */
  async change<T>(work: () => Promise<T>, { isUrgent = false } = {}): Promise<T> {
    if (!this.parts.loader.isLoaded) throw new Problem('unavailable', { detail: 'definitions are not loaded yet' })
    if (!this.parts.store.ready()) throw new Problem('unavailable', { detail: 'redis is away' })
    if (this.#waiting >= CHANGES_WAITING_MAX) throw new Problem('overloaded')
    this.#waiting++
    const lane = isUrgent ? 'urgent' : 'normal'
    const result = this.#turns[lane].then(work).finally(() => this.#waiting--)
    this.#turns[lane] = result.catch(() => undefined) // its caller gets the fault; the next one goes on
    return result
  }

  /** The sale, or a Problem `not_found`. */
  sale(activityId: number | undefined): Sale {
    const sale = this.parts.book.get(activityId)
    if (sale === undefined) throw new Problem('not_found', { detail: 'there is no such activity' })
    return sale
  }

  async createActivity(actor: Actor, input: Input): Promise<number> {
    const { db, book, clock } = this.parts
    const fields = fieldsOf(unwrap(readNewActivity(input)))
    const row = await db.definitions.createActivity(fields, ({ id }) =>
      entryOf(actor, 'activity.create', activityKey(id), undefined, fields),
    )
    book.put(row, [], clock.now())
    await this.parts.versions.add(String(row.id), { fields }, actor.name)
    return row.id
  }

  async patchActivity(actor: Actor, activityId: number | undefined, input: Input, how: How = {}): Promise<Sale> {
    const sale = this.sale(activityId)
    const before = sale.activity
    const after = unwrap(readActivityPatch(before, input))
    forbid(activityChangeObstacle(before, after))
    const [{ id }, fields] = [after, fieldsOf(after)]
    await this.parts.trial.run(actor, activityKey(id), [{ sale, activity: after }], how)
    const { state } = sale.activity // the trial takes its time, and the keeper moves on
    forbid(activityChangeObstacle({ ...before, state }, { ...after, state }))
    const entry = entryOf(actor, 'activity.patch', activityKey(id), withoutSeed(before), withoutSeed(after))
    await this.parts.db.definitions.patchActivity(id, changesOf(before, fields), {}, () => entry)
    await this.#reload(sale)
    await this.parts.versions.add(String(id), { fields: withoutSeed(fields) }, actor.name)
    return sale
  }

  /** Makes an earlier version of an activity's fields the newest one, where its state allows that. */
  async rollbackActivity(actor: Actor, activityId: number | undefined, version: unknown, how: How = {}): Promise<Sale> {
    const { activity } = this.sale(activityId)
    const found = (await this.parts.versions.list(String(activity.id))).find((one) => one.version === version)
    if (found === undefined) throw new Problem('not_found', { detail: `there is no version ${version}` })
    return this.patchActivity(actor, activityId, { ...found.fields }, how)
  }

  /** Deletes a draft that was never sold. */
  async deleteActivity(actor: Actor, activityId: number | undefined): Promise<void> {
    const sale = this.sale(activityId)
    const { id } = sale.activity
    if (sale.hasSold) forbid('the activity has orders')
    const entry = entryOf(actor, 'activity.delete', activityKey(id), withoutSeed(sale.activity), undefined)
    const deletion = await this.parts.db.definitions.deleteActivity(id, entry)
    if (deletion === 'forbidden') forbid('only drafts are deleted')
    this.parts.book.remove(id)
  }

  async createSku(actor: Actor, activityId: number | undefined, input: Input): Promise<number> {
    const sale = this.sale(activityId)
    const { id: activity, state } = sale.activity
    const read = readNewSku(activity, input)
    const [doc, policyPlan] = unwrap(both(read, readPlan(input.policyPlan, read)))
    const { id: _id, activityId: _activityId, ...fields } = { ...doc, policyPlan }
    if (!isFreeToChange(state)) forbid(`SKUs cannot be added while the activity is ${state}`)
    this.parts.trial.check({ sale, skus: [doc] })
    const row = await this.parts.db.definitions.createSku(activity, fields, {}, ({ id }) =>
      entryOf(actor, 'sku.create', skuKey(activity, id), undefined, fields),
    )
    if (row === undefined) throw new Problem('not_found')
    await this.#reload(sale)
    await this.parts.policies.add(activity, row.id, fields.policy, actor.name)
    return row.id
  }

  async patchSku(actor: Actor, activityId: number | undefined, skuId: number | undefined, input: Input, how: How = {}) {
    const sale = this.sale(activityId)
    const { doc: before, policyPlan: planBefore } = this.skuDefinition(sale, skuId)
    const read = readSkuPatch(before, input)
    const [after, policyPlan] = unwrap(
      both(read, readPlan(input.policyPlan === undefined ? planBefore : input.policyPlan, read)),
    )
    forbid(skuChangeObstacle(sale.activity.state, { ...before, policyPlan: planBefore }, { ...after, policyPlan }))
    const { id, activityId: activity, ...fields } = after
    const [was, is] = [
      { ...before, policyPlan: planBefore },
      { ...after, policyPlan },
    ]
    await this.parts.trial.run(actor, skuKey(activity, id), [{ sale, skus: [after] }], how)
    forbid(skuChangeObstacle(sale.activity.state, was, is)) // the trial takes its time, and the keeper moves on
    const entry = entryOf(actor, 'sku.patch', skuKey(activity, id), was, is)
    const changes = changesOf(before, fields) // the stock may have moved meanwhile
    await this.parts.db.definitions.patchSku(activity, id, { ...changes, policyPlan }, {}, () => entry)
    await this.#reload(sale)
    if (JSON.stringify(before.policy) !== JSON.stringify(after.policy))
      await this.parts.policies.add(activity, id, after.policy, actor.name)
    return this.sku(sale, id)
  }

  async deleteSku(actor: Actor, activityId: number | undefined, skuId: number | undefined): Promise<void> {
    const sale = this.sale(activityId)
    const before = this.sku(sale, skuId)
    const { id } = sale.activity
    if (sale.hasSold) forbid('the activity has orders')
    const entry = entryOf(actor, 'sku.delete', skuKey(id, before.id), before, undefined)
    const deletion = await this.parts.db.definitions.deleteSku(id, before.id, entry)
    if (deletion === 'forbidden') forbid('only SKUs of a draft are deleted')
    await this.#reload(sale)
  }

  /** The SKU, or a Problem `not_found`. */
  sku(sale: Sale, skuId: number | undefined) {
    const sku = skuId === undefined ? undefined : sale.skus.get(skuId)
    if (sku === undefined) throw new Problem('not_found', { detail: 'there is no such SKU' })
    return sku
  }

  /** The SKU as it was defined: its document with the base policy, and the plan; or a Problem `not_found`. */
  skuDefinition(sale: Sale, skuId: number | undefined): { doc: SkuDoc; policyPlan: PolicyPlan } {
    const sku = this.sku(sale, skuId)
    const planned = sale.plans.get(sku.id)
    return { doc: { ...sku, policy: planned?.base ?? sku.policy }, policyPlan: planned?.plan ?? [] }
  }

  /** An operator's action. `force` opens without waiting for nodes. */
  async act(actor: Actor, activityId: number | undefined, event: ActivityEvent, force: boolean): Promise<Sale> {
    const sale = this.sale(activityId)
    const { clock } = this.parts
    if (event === 'schedule' && activityStep(sale.activity.state, event)) {
      checkSchedule(sale, clock.now())
      if (sale.activity.admission === 'draw') await this.#drawSeed(sale)
      const activity: ActivityDoc = { ...sale.activity, state: 'scheduled' }
      const drafts = [{ sale, activity, skus: [...sale.skus.values()] }]
      await this.parts.trial.run(actor, activityKey(activity.id), drafts, { isForced: force })
    }
    const isLeaving = event === 'reset' || event === 'archive'
    if (isLeaving && activityStep(sale.activity.state, event)) await this.#checkSettled(sale)
    if (event === 'arm' || (event === 'open' && force && sale.activity.state === 'preloading'))
      await this.#arm(actor, sale, force)
    if (event === 'open' && activityStep(sale.activity.state, 'open')) await this.#openNow(sale)
    if (event !== 'arm') await this.#step(actor, sale, event)
    return sale
  }

  /** Each run of a sale has a seed of its own; its commit is published with the sale, before anybody can take part. */
  async #drawSeed(sale: Sale): Promise<void> {
    const { db, random } = this.parts
    const waiting = withSeed(sale.activity.waiting, random.bytes(SEED_BYTES), drawHashes)
    await db.definitions.patchActivity(sale.activity.id, { waiting })
    await this.#reload(sale)
  }

  /** Writes the audit; an entry that cannot be written yet waits. */
  async audit(actor: Actor, action: string, subject: string, before: unknown, after: unknown): Promise<void> {
    this.parts.record.note({ actor: actor.name, role: actor.role, action, subject, before, after })
    await this.parts.record.flushAudit()
  }

  async #arm(actor: Actor, sale: Sale, force: boolean): Promise<void> {
    const fact = factOf(sale)
    const missing = [...waitingFor(fact, this.parts.watch.list()), ...layersLeft(fact)]
    if (missing.includes('ledger')) forbid('the ledger is not open yet')
    if (missing.length > 0 && !force) forbid(`waiting for ${missing.join(', ')}; add ?force=true to go on without them`)
    await this.#step(actor, sale, 'arm')
  }

  /** Fronts open by the time in the document: opening by hand is moving that time to now. */
  async #openNow(sale: Sale): Promise<void> {
    const now = this.parts.clock.now()
    if (sale.activity.opensAt <= now) return
    await this.parts.db.definitions.patchActivity(sale.activity.id, { opensAt: now })
    await this.#reload(sale)
  }

  async #step(actor: Actor, sale: Sale, event: ActivityEvent): Promise<void> {
    const { clock, db, keepers, record } = this.parts
    const { id, state } = sale.activity
    const next = activityStep(state, event)
    if (next === undefined)
      throw new Problem('wrong_state', { detail: `${event} is not possible while ${state}`, state })
    const isMoved = await record.alone(async () => {
      const from = [...new Set([state, sale.storedState])]
      const entry = entryOf(actor, `activity.${event}`, activityKey(id), { state }, { state: next })
      if ((await db.definitions.setActivityState(id, from, next, undefined, () => entry)) === undefined) return false
      sale.storedState = next
      // The keeper may have moved it while PostgreSQL wrote; then its state stands and is stored again.
      if (sale.activity.state !== state) return false
      moveTo(sale, next, clock.now())
      return true
    })
    if (!isMoved) forbid(`the activity became ${sale.activity.state} meanwhile`)
    keepers.changed(sale)
    if (next === 'draft') {
      sale.hasLedger = false
      sale.statuses.clear()
      await onRedis(() => this.parts.ledger.lines.clear(id, [...sale.skus.keys()]))
    }
    await keepers.actRound()
  }

  /** Holds and tokens still move the ledger: it is left alone only when nothing is on its way. */
  async #checkSettled(sale: Sale): Promise<void> {
    const { ledger, db } = this.parts
    const figures = [...(await onRedis(() => ledger.figures(sale.activity.id))).values()]
    const counts = await db.orders.countsBySku(sale.activity.id)
    const isMoving =
      figures.some(({ held, outstanding }) => held + outstanding > 0) || counts.some(({ held }) => held > 0)
    if (isMoving) forbid('units are still held or granted')
    if (figures.some(({ reservedTotal }) => reservedTotal > 0) || counts.length > 0) sale.hasSold = true
  }

  async #reload(sale: Sale): Promise<void> {
    const { db, book, clock, keepers } = this.parts
    const { id } = sale.activity
    const [row, skus] = [await db.definitions.getActivity(id), await db.definitions.listSkus(id)]
    if (row === undefined) throw new Problem('not_found')
    book.put(row, skus, clock.now())
    if (sale.activity.state !== 'draft') keepers.changed(sale)
    await keepers.actRound()
  }
}

/** Only what is changed is written. */
function changesOf<T extends object>(before: object, after: T): Partial<T> {
  const old = before as Record<string, unknown>
  const entries = Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(old[name]))
  return Object.fromEntries(entries) as Partial<T>
}

function fieldsOf({ id: _id, state: _state, stage: _stage, skuIds: _skuIds, ...fields }: ActivityDoc): ActivityFields {
  return fields
}

/** What the audit says of an operator's change. */
export function entryOf(actor: Actor, action: string, subject: string, before: unknown, after: unknown): AuditEntry {
  return { actor: actor.name, role: actor.role, action, subject, before, after }
}

/** The value, or a Problem `bad_request` with every error. */
export function unwrap<T>(parsed: Parsed<T>): T {
  if (parsed.ok) return parsed.value
  throw new Problem('bad_request', { errors: parsed.errors })
}

/** Throws a Problem `wrong_state` when there is an obstacle. */
export function forbid(obstacle: string | undefined): void {
  if (obstacle !== undefined) throw new Problem('wrong_state', { detail: obstacle })
}

function checkSchedule({ activity, skus }: Sale, now: number): void {
  if (skus.size === 0) forbid('the activity has no SKU')
  if (activity.closesAt <= now) forbid('closesAt has passed')
}
