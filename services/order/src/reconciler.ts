/** Compares the ledger with PostgreSQL each ten seconds, and repairs in the safe direction: rows that are missing. */

import type { Db, OrderRow } from '@bigtap/db'
import type { Ledger } from '@bigtap/store'
import { type Difference, differencesOf } from './core/reconcile.ts'

/** What the reconciler works with. */
export interface ReconcilerParts {
  readonly db: Pick<Db, 'orders'>
  readonly ledger: Pick<Ledger, 'figures' | 'scanOrders'>
  readonly activityIds: () => Iterable<number>
  readonly currencyOf: (activityId: number, skuId: number) => string
  readonly now: () => number
}

/** The result of one round. */
export interface Reconciliation {
  readonly at: number
  readonly activities: number
  readonly repaired: number
  readonly differences: readonly (Difference & { readonly activityId: number })[]
}

/** Rounds in which an activity must be behind before it is repaired: the log is only slow, most of the time. */
const BEHIND_ROUNDS = 2

/** Reconciles all activities. */
export class Reconciler {
  readonly #parts: ReconcilerParts
  readonly #behind = new Map<number, number>()
  #last: Reconciliation = { at: 0, activities: 0, repaired: 0, differences: [] }

  constructor(parts: ReconcilerParts) {
    this.#parts = parts
  }

  get last(): Reconciliation {
    return this.#last
  }

  /** One round over all activities. */
  async round(): Promise<Reconciliation> {
    const differences: (Difference & { activityId: number })[] = []
    let activities = 0
    let repaired = 0
    for (const activityId of this.#parts.activityIds()) {
      activities++
      const found = await this.#compare(activityId)
      differences.push(...found.map((one) => ({ ...one, activityId })))
      const rounds = found.length > 0 ? (this.#behind.get(activityId) ?? 0) + 1 : 0
      this.#behind.set(activityId, rounds)
      if (rounds >= BEHIND_ROUNDS) repaired += await this.#repair(activityId)
    }
    this.#last = { at: this.#parts.now(), activities, repaired, differences }
    return this.#last
  }

  async #compare(activityId: number): Promise<Difference[]> {
    const figures = await this.#parts.ledger.figures(activityId)
    const counts = new Map((await this.#parts.db.orders.countsBySku(activityId)).map((row) => [row.skuId, row]))
    return differencesOf(
      [...figures].map(([skuId, ledger]) => {
        const row = counts.get(skuId)
        const stored = { held: row?.units.held ?? 0, paid: row?.units.paid ?? 0, orders: row?.orders ?? 0 }
        return { skuId, ledger, stored }
      }),
    )
  }

  /** Every order of the ledger is offered to PostgreSQL, which keeps the newer of the two: nothing moves back. */
  async #repair(activityId: number): Promise<number> {
    let repaired = 0
    let cursor = 0
    do {
      const page = await this.#parts.ledger.scanOrders(activityId, cursor)
      const rows = page.orders.map(
        (order): OrderRow => ({
          ...order,
          activityId,
          tokenId: order.orderId.slice(1),
          currency: this.#parts.currencyOf(activityId, order.skuId),
        }),
      )
      if (rows.length > 0) repaired += await this.#parts.db.orders.upsertMany(rows)
      cursor = page.next
    } while (cursor !== 0)
    return repaired
  }
}
