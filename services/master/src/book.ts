/** What is defined, in memory: the keepers work from it, so that the sale goes on while PostgreSQL is away. */

import type { ActivityRow, SkuRow } from '@bigtap/db'
import type { ActivityDoc, ActivityStage, ActivityState, SkuDoc, StatusDoc } from '@bigtap/domain'
import { type PlannedPolicy, planOf, policyInForce } from './core/policy-keeper.ts'

/** One sale. `state` runs ahead of `storedState` while it could not be stored. */
export interface Sale {
  activity: ActivityDoc
  /** Their documents, each with the policy in force. */
  skus: Map<number, SkuDoc>
  /** Base policy, plan and trigger in force of each SKU. */
  plans: Map<number, PlannedPolicy>
  storedState: ActivityState
  storedRevision: number
  /** Of the newest documents; 0 while they are not published. */
  revision: number
  hasLedger: boolean
  /** It has had orders before: a missing ledger is rebuilt, never made anew. */
  hasSold: boolean
  since: number
  /** Since when its layers are as they are. */
  stagedAt: number
  /** Tokens that may still come to the cart; undefined while that is not known. */
  outstanding: number | undefined
  alarmedAt: number
  waitingFor: readonly string[]
  readonly statuses: Map<number, StatusDoc>
  /** SKUs whose stock is not stored yet. */
  readonly unsavedStocks: Set<number>
}

/** All sales by id. */
export class Book {
  readonly sales = new Map<number, Sale>()

  /** Takes what is stored; a state that runs ahead stays. */
  put(row: ActivityRow, skuRows: readonly SkuRow[], now: number): Sale {
    const known = this.sales.get(row.id)
    const stored = toActivityDoc(row, known?.activity.stage ?? STAGE_OF[row.state])
    const plans = new Map(
      skuRows.map(({ id, policy, policyPlan }) => [id, planOf(policy, policyPlan, known?.plans.get(id))]),
    )
    const skus = new Map(skuRows.map((sku) => [sku.id, toSkuDoc(sku, plans.get(sku.id))]))
    const skuIds = [...skus.keys()]
    if (known === undefined) {
      const sale = newSale({ ...stored, skuIds }, { skus, plans }, row.revision, now)
      this.sales.set(row.id, sale)
      return sale
    }
    const isAhead = known.activity.state !== known.storedState
    for (const skuId of known.unsavedStocks) {
      const [sku, ours] = [skus.get(skuId), known.skus.get(skuId)]
      if (sku && ours) skus.set(skuId, { ...sku, stock: ours.stock })
    }
    known.activity = { ...stored, skuIds, state: isAhead ? known.activity.state : row.state }
    known.skus = skus
    known.plans = plans
    known.storedState = row.state
    return known
  }

  get(activityId: number | undefined): Sale | undefined {
    return activityId === undefined ? undefined : this.sales.get(activityId)
  }

  remove(activityId: number): void {
    this.sales.delete(activityId)
  }

  /** Sales in one of these states, oldest first. */
  in(states: readonly ActivityState[]): Sale[] {
    return [...this.sales.values()]
      .filter(({ activity }) => states.includes(activity.state))
      .sort((a, b) => a.activity.id - b.activity.id)
  }
}

/** Moves a sale to a state, in memory. One that is armed is open but for the limiters; one that begins anew is shut. */
export function moveTo(sale: Sale, state: ActivityState, now: number): void {
  const stage = state === 'armed' ? 'middle' : sale.activity.stage
  sale.activity = { ...sale.activity, state, stage: BEFORE.includes(state) ? 'shut' : stage }
  sale.since = now
  sale.stagedAt = now
  sale.waitingFor = []
}

/** Moves a sale to a stage, in memory. */
export function stageTo(sale: Sale, stage: ActivityStage, now: number): void {
  sale.activity = { ...sale.activity, stage }
  sale.stagedAt = now
  sale.waitingFor = []
}

function newSale(
  activity: ActivityDoc,
  { skus, plans }: Pick<Sale, 'skus' | 'plans'>,
  revision: number,
  now: number,
): Sale {
  return {
    activity,
    skus,
    plans,
    storedState: activity.state,
    storedRevision: revision,
    revision: 0,
    hasLedger: false,
    hasSold: false,
    since: now,
    stagedAt: now,
    outstanding: undefined,
    alarmedAt: 0,
    waitingFor: [],
    statuses: new Map(),
    unsavedStocks: new Set(),
  }
}

const BEFORE: readonly ActivityState[] = ['draft', 'scheduled']
/** The stage of a state that is loaded; where the catalog tells more, it is taken from there. */
const STAGE_OF: Readonly<Record<ActivityState, ActivityStage>> = {
  ...{ draft: 'shut', scheduled: 'shut', preloading: 'shut', armed: 'middle', open: 'middle', paused: 'middle' },
  ...{ closed: 'shut', archived: 'shut' },
}

function toActivityDoc(row: ActivityRow, stage: ActivityStage): ActivityDoc {
  const { id, title, state, opensAt, closesAt, rule, reservation, skuIds, accessLimits } = row
  const { admission, waiting, challenge } = row
  const plain = { id, title, state, stage, opensAt, closesAt, rule, reservation, skuIds, accessLimits }
  return { ...plain, admission, waiting, challenge }
}

function toSkuDoc(row: SkuRow, planned: PlannedPolicy | undefined): SkuDoc {
  const { id, activityId, title, priceCents, currency, imageUrl, stock, limitPerBuyer, paused } = row
  const policy = planned === undefined ? row.policy : policyInForce(planned)
  return { id, activityId, title, priceCents, currency, imageUrl, stock, limitPerBuyer, policy, paused }
}
