/** What operators see: the invariants, checked against the record, and the live picture of the stream. */

import type { Db } from '@bigtap/db'
import {
  type ActivityDoc,
  type ActivityState,
  checkInvariants,
  type Figures,
  type SkuState,
  stateByFigures,
} from '@bigtap/domain'
import type { Clock } from '@bigtap/kernel'
import type { Ledger, Store } from '@bigtap/store'
import type { Book, Sale } from './book.ts'
import { hasLiveLedger } from './core/change-rules.ts'
import { reportSku, type SkuReport } from './core/sku-report.ts'
import { onRedis } from './faults.ts'
import type { SeenNode } from './node-watch.ts'

/** Collaborators. */
export interface ViewParts {
  readonly db: Pick<Db, 'orders'>
  readonly store: Pick<Store, 'ready' | 'runId'>
  readonly ledger: Ledger
  readonly book: Book
  readonly clock: Clock
  /** The node that leads: whoever answers does. */
  readonly leaderId: string
  nodes(): readonly SeenNode[]
}

/** `GET /admin/v1/invariants`. */
export interface InvariantsReport {
  readonly ok: boolean
  readonly at: number
  readonly skus: readonly SkuReport[]
}

/** A SKU in the live picture. `ledger` says what the figures are worth. */
export interface SkuView extends Figures {
  readonly id: number
  readonly title: string
  readonly state: SkuState
  readonly pacePerSecond: number | null
}

/** An activity in the live picture. */
export interface ActivityView extends Pick<ActivityDoc, 'id' | 'title' | 'state' | 'stage' | 'opensAt' | 'closesAt'> {
  readonly ledger: LedgerState
  readonly revision: number
  readonly waitingFor: readonly string[]
  readonly skus: readonly SkuView[]
}

/** A node as operators see it. */
export interface NodeView extends SeenNode {
  readonly isLeader: boolean
}

/** One event of the stream. */
export interface LiveView {
  readonly at: number
  readonly ok: boolean
  readonly isRedisReady: boolean
  readonly activities: readonly ActivityView[]
  readonly nodes: readonly NodeView[]
  readonly violations: readonly string[]
}

/** `none`: not made yet. `rebuilding`: closed until it is verified again. */
export type LedgerState = 'none' | 'verified' | 'rebuilding'

const WITH_LEDGER: readonly ActivityState[] = ['preloading', 'armed', 'open', 'paused', 'closed']
const SELLING: readonly ActivityState[] = ['armed', 'open', 'paused']
/** Activities in the live picture, the newest. */
export const LIVE_ACTIVITIES_MAX = 20

/** Reads both sides. */
export class SaleView {
  readonly #parts: ViewParts

  constructor(parts: ViewParts) {
    this.#parts = parts
  }

  /** All SKUs that have a ledger, or those of one activity. Rejects when Redis or PostgreSQL is away. */
  async invariants(activityId?: number): Promise<InvariantsReport> {
    const { book, clock } = this.#parts
    const sales = book.in(WITH_LEDGER).filter(({ activity }) => activityId === undefined || activity.id === activityId)
    const skus = (await Promise.all(sales.map((sale) => this.#report(sale)))).flat()
    return { ok: skus.every(({ violations }) => violations.length === 0), at: clock.now(), skus }
  }

  /** The live picture. Works without PostgreSQL; without Redis it has no figures. */
  async live(): Promise<LiveView> {
    const { book, clock, store } = this.#parts
    const sales = book.in(['scheduled', ...WITH_LEDGER]).slice(-LIVE_ACTIVITIES_MAX)
    const isRedisReady = store.ready()
    const activities = await Promise.all(sales.map((sale) => this.#activity(sale, isRedisReady)))
    const violations = activities.flatMap(({ id, ledger, skus }) =>
      ledger === 'verified' ? skus.flatMap((sku) => checkInvariants(figuresOnly(sku)).map(at(id, sku.id))) : [],
    )
    return { at: clock.now(), ok: violations.length === 0, isRedisReady, activities, nodes: this.nodes(), violations }
  }

  /** What rules may ask about beside dcacenter's figures. Rejects when Redis is away. */
  async facts(): Promise<{ violations: number; ledgersInDoubt: number; heldOpenings: number }> {
    const { activities, violations } = await this.live()
    const inDoubt = activities.filter(({ state, ledger }) => SELLING.includes(state) && ledger !== 'verified')
    const held = activities.filter(({ waitingFor }) => waitingFor.length > 0)
    return { violations: violations.length, ledgersInDoubt: inDoubt.length, heldOpenings: held.length }
  }

  /** Who is there. */
  nodes(): NodeView[] {
    const { leaderId, nodes } = this.#parts
    const seen = nodes().map((node) => ({ ...node, isLeader: node.id === leaderId }))
    return seen.sort((a, b) => a.role.localeCompare(b.role) || a.id.localeCompare(b.id))
  }

  async #report(sale: Sale): Promise<SkuReport[]> {
    const activityId = sale.activity.id
    // Counts first: orders only follow the ledger, so the later figures can never be behind them.
    const counts = new Map((await this.#parts.db.orders.countsBySku(activityId)).map((row) => [row.skuId, row]))
    const ledger = await this.#ledgerState(activityId)
    const figures = await onRedis(() => this.#parts.ledger.figures(activityId))
    const mustHaveLedger = hasLiveLedger(sale.activity.state) && sale.activity.state !== 'preloading'
    if (mustHaveLedger && ledger !== 'verified') figures.clear() // half a ledger tells nothing
    return [...sale.skus.keys()].map((skuId) =>
      reportSku({ activityId, skuId }, figures.get(skuId), counts.get(skuId), mustHaveLedger),
    )
  }

  async #activity(sale: Sale, isRedisReady: boolean): Promise<ActivityView> {
    const { id, title, state, stage, opensAt, closesAt } = sale.activity
    const ledger = isRedisReady ? await this.#ledgerState(id) : 'rebuilding'
    const figures = isRedisReady ? await onRedis(() => this.#parts.ledger.figures(id)) : new Map<number, Figures>()
    const skus = [...sale.skus.values()].map((sku) => {
      const found = figures.get(sku.id) ?? emptyFigures(sku.stock)
      const { pacePerSecond } = sku.policy
      const skuState = skuStateOf(state, sku.paused, () => stateByFigures(found, sku.policy))
      return { ...found, id: sku.id, title: sku.title, state: skuState, pacePerSecond }
    })
    return {
      id,
      title,
      state,
      stage,
      opensAt,
      closesAt,
      ledger,
      revision: sale.revision,
      waitingFor: sale.waitingFor,
      skus,
    }
  }

  async #ledgerState(activityId: number): Promise<LedgerState> {
    const guard = await onRedis(() => this.#parts.ledger.guards.read(activityId))
    if (guard === undefined) return 'none'
    return guard.endsWith(`:${this.#parts.store.runId}`) ? 'verified' : 'rebuilding'
  }
}

/** The release state that Middle is in, as the same machine says from the same figures. */
function skuStateOf(state: ActivityState, isPaused: boolean, byFigures: () => SkuState): SkuState {
  if (state === 'closed') return 'ended'
  if (state === 'paused' || (isPaused && state === 'open')) return 'paused'
  if (state === 'open') return byFigures()
  return state === 'scheduled' ? 'idle' : 'ready'
}

function emptyFigures(stock: number): Figures {
  const none = { held: 0, sold: 0, quota: 0, pool: 0, leased: 0, outstanding: 0, redeemed: 0 }
  return { ...none, stock, free: stock, reservedTotal: 0, deadTotal: 0 }
}

function figuresOnly({ id: _id, title: _title, state: _state, pacePerSecond: _pace, ...figures }: SkuView): Figures {
  return figures
}

function at(activityId: number, skuId: number) {
  return (violation: string) => `activity ${activityId}, SKU ${skuId}: ${violation}`
}
