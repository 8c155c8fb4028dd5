/**
 * Brings a ledger back that is in doubt: Redis was restarted, failed over, or emptied.
 *
 * ```
 * guard names another run, or is missing ──► lease ──► guard = rebuilding ──► make what is missing
 *   ──► adopt PostgreSQL's orders ──► adopt what this process remembers ──► epoch + 1 ──► guard = epoch:run
 * ```
 * A process that remembers orders which another's rebuild did not know rebuilds once more.
 * States only move forward. Order numbers that nobody knows any more are counted and shown as lost.
 */

import type { Db, OrderRow } from '@bigtap/db'
import type { Clock, Logger } from '@bigtap/kernel'
import { type Ledger, type LedgerOrder, type NameLease, REBUILDING, type Store } from '@bigtap/store'
import type { RecentOrders } from './core/recent-orders.ts'

/** What the rebuilder works with. */
export interface RebuilderParts {
  readonly store: Store
  readonly ledger: Ledger
  readonly db: Pick<Db, 'orders' | 'definitions'>
  readonly recent: RecentOrders
  readonly activities: () => Iterable<{ id: number; state: string }>
  readonly lease: NameLease
  readonly clock: Clock
  readonly logger: Logger
}

/** How one rebuild went. */
export interface Rebuild {
  readonly activityId: number
  readonly at: number
  readonly epoch: number
  readonly adopted: number
  readonly moved: number
  /** Orders that found no unit, or no product: they stand in the record, and in the log of this process. */
  readonly conflicts: number
  /** Orders that were taken, and that neither Redis, PostgreSQL nor this process knows any more. */
  readonly lost: number
}

const PAGE = 500
const ADOPT_MAX = 64
const HISTORY_MAX = 100
/** Orders that are compared after another process' rebuild: what a replica lacks is some hundred ms old. */
const COMPARED_MAX = 1_024
/** Only an activity that has got so far has a ledger. */
const LEDGER_STATES: readonly string[] = ['armed', 'open', 'paused', 'closed']

/** Verifies ledgers and rebuilds them. */
export class Rebuilder {
  readonly #parts: RebuilderParts
  readonly #history: Rebuild[] = []
  readonly #newest = new Map<number, Rebuild>()
  /** By activity: the guard under which the ledger was found to have what this process remembers. */
  readonly #compared = new Map<number, string>()
  /** Orders that found no unit. */
  readonly #unitless = new Set<string>()
  #isRunning = false

  constructor(parts: RebuilderParts) {
    this.#parts = parts
  }

  get history(): readonly Rebuild[] {
    return this.#history
  }

  /** What is lost of an activity stays lost: its newest rebuild counts what earlier ones did. */
  get lostTotal(): number {
    return this.#sum(({ lost }) => lost)
  }

  get conflictsTotal(): number {
    return this.#sum(({ conflicts }) => conflicts)
  }

  #sum(of: (rebuild: Rebuild) => number): number {
    return [...this.#newest.values()].reduce((total, rebuild) => total + of(rebuild), 0)
  }

  /** Looks at all ledgers; rebuilds those in doubt, one process at a time. */
  async round(): Promise<void> {
    const { runId } = this.#parts.store
    if (runId === undefined || this.#isRunning) return
    this.#isRunning = true
    try {
      for (const { id, state } of this.#parts.activities())
        if (LEDGER_STATES.includes(state)) await this.#verify(id, runId)
    } finally {
      this.#isRunning = false
    }
  }

  async #verify(activityId: number, runId: string): Promise<void> {
    const guard = await this.#parts.ledger.guards.read(activityId)
    if (guard?.endsWith(`:${runId}`) && !(await this.#lacksOurs(activityId, guard))) return
    if ((await this.#parts.lease.hold()) === 0) return
    const rebuild = await this.#rebuild(activityId, runId).finally(
      () => this.#parts.lease.release().catch(() => undefined), // it runs out by itself
    )
    if (this.#history.length >= HISTORY_MAX) this.#history.shift()
    this.#history.push(rebuild)
    this.#newest.set(activityId, rebuild)
    this.#parts.logger.warn({ ...rebuild, from: guard ?? 'nothing' }, 'ledger rebuilt')
  }

  /**
   * Another process has rebuilt the ledger: does it lack what only this one remembers? Asked once per guard, of the newest
   * orders: a failover forgets the last moments. Orders that found no unit are not asked for again.
   */
  async #lacksOurs(activityId: number, guard: string): Promise<boolean> {
    if (this.#compared.get(activityId) === guard) return false
    const { ledger, recent } = this.#parts
    const newest = recent.of(activityId).slice(-COMPARED_MAX)
    for (let at = 0; at < newest.length; at += ADOPT_MAX) {
      const ours = newest.slice(at, at + ADOPT_MAX).filter(({ orderId }) => !this.#unitless.has(orderId))
      const found = await Promise.all(ours.map(({ orderId }) => ledger.order(activityId, orderId)))
      if (found.includes(undefined)) return true
    }
    this.#compared.set(activityId, guard)
    return false
  }

  async #rebuild(activityId: number, runId: string): Promise<Rebuild> {
    const { ledger, recent, clock, logger } = this.#parts
    const before = await ledger.beginRebuild(activityId)
    await this.#openLedger(activityId)
    const totals: Totals = { adopted: 0, moved: 0, conflicts: [] }
    await this.#adoptStored(activityId, totals)
    // What PostgreSQL has is adopted silently; what only this process knows is told to the outbox again.
    await this.#adoptAll(activityId, recent.of(activityId), true, totals)
    // An order may have had to wait for the unit that another gave back.
    const waiting = totals.conflicts
    totals.conflicts = []
    await this.#adoptAll(activityId, newestOf(waiting), true, totals)
    for (const order of totals.conflicts) logger.error({ activityId, ...named(order) }, 'order found no unit')
    const seqAtLeast = Math.max(before.seq, recent.highestSeq(activityId), await ledger.lastSeq(activityId))
    const lost = Math.max(0, seqAtLeast - (await this.#countKnown(activityId)) - totals.conflicts.length)
    // Without an earlier epoch the time stands in: whatever guard others remember, it differs.
    const epoch = before.epoch > 0 ? before.epoch + 1 : Math.floor(clock.now() / 1000)
    for (const { orderId } of totals.conflicts) this.#unitless.add(orderId)
    this.#compared.set(activityId, await ledger.endRebuild(activityId, epoch, { runId, seqAtLeast }))
    const { adopted, moved, conflicts } = totals
    return { activityId, at: clock.now(), epoch, adopted, moved, conflicts: conflicts.length, lost }
  }

  async #openLedger(activityId: number): Promise<void> {
    const { db, ledger } = this.#parts
    const activity = await db.definitions.getActivity(activityId)
    const skus = await db.definitions.listSkus(activityId)
    const rows = skus.map(({ id, stock, limitPerBuyer, priceCents, policy: { overbook, holdSeconds } }) => ({
      ...{ skuId: id, stock, overbook, limitPerBuyer, priceCents, holdSeconds },
    }))
    await ledger.open(activityId, activity?.rule ?? 'once-per-product', rows, REBUILDING)
  }

  async #adoptStored(activityId: number, totals: Totals): Promise<void> {
    for (let after = ''; ; ) {
      const rows = await this.#parts.db.orders.listByActivity(activityId, { after, limit: PAGE })
      await this.#adoptAll(activityId, rows.map(ledgerOrderOf), false, totals)
      if (rows.length < PAGE) return
      after = rows.at(-1)?.orderId ?? ''
    }
  }

  async #adoptAll(activityId: number, orders: readonly LedgerOrder[], emits: boolean, totals: Totals): Promise<void> {
    for (let at = 0; at < orders.length; at += ADOPT_MAX) {
      const result = await this.#parts.ledger.adopt(activityId, orders.slice(at, at + ADOPT_MAX), emits)
      totals.adopted += result.adopted
      totals.moved += result.moved
      totals.conflicts.push(...result.conflicts)
      await this.#parts.lease.hold()
    }
  }

  async #countKnown(activityId: number): Promise<number> {
    const figures = await this.#parts.ledger.figures(activityId)
    return [...figures.values()].reduce((total, { reservedTotal }) => total + reservedTotal, 0)
  }
}

interface Totals {
  adopted: number
  moved: number
  conflicts: LedgerOrder[]
}

/** The newest version of each order. */
function newestOf(orders: readonly LedgerOrder[]): LedgerOrder[] {
  const newest = new Map<string, LedgerOrder>()
  for (const order of orders)
    if (order.version >= (newest.get(order.orderId)?.version ?? 0)) newest.set(order.orderId, order)
  return [...newest.values()]
}

function named({ orderId, skuId, quantity, state }: LedgerOrder) {
  return { orderId, skuId, quantity, state }
}

/** A stored order as the ledger sees it: money that has to go back is no unit of the ledger's. */
export function ledgerOrderOf(row: OrderRow): LedgerOrder {
  const { orderId, skuId, uid, quantity, priceCents, version, seq, createdAt, payBy, updatedAt } = row
  const state = row.state === 'refund_pending' || row.state === 'refunded' ? 'expired' : row.state
  return { orderId, state, skuId, uid, quantity, priceCents, version, seq, createdAt, payBy, updatedAt }
}
