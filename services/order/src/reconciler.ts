/** Compares the ledger with PostgreSQL each ten seconds, and repairs in the safe direction: rows that are missing. */

import type { Db } from '@bigtap/db'
import type { Logger } from '@bigtap/kernel'
import { type Difference, differencesOf } from './core/reconcile.ts'
import type { LedgerView } from './ledger-view.ts'
import { rowOfLedger } from './order-rows.ts'

/** What the reconciler works with. */
export interface ReconcilerParts {
  readonly db: Pick<Db, 'orders'>
  readonly ledgers: Pick<LedgerView, 'activityIds' | 'isVerified' | 'figures' | 'scanOrders' | 'currencyOf'>
  readonly logger: Logger
  readonly now: () => number
}

/** The result of one round. Activities whose ledger is in doubt are not judged. */
export interface Reconciliation {
  readonly at: number
  readonly activities: number
  readonly inDoubt: number
  /** Rows brought up to date. */
  readonly repaired: number
  /** SKUs that have differed for two rounds or longer. */
  readonly alerts: number
  readonly differences: readonly (Difference & { readonly activityId: number })[]
}

/** Rounds in which an activity must differ before it is repaired and an alert raised: the log is only slow, most of the time. */
const ROUNDS_MIN = 2

/** Reconciles all activities. */
export class Reconciler {
  readonly #parts: ReconcilerParts
  #rounds = new Map<number, number>()
  #last: Reconciliation = { at: 0, activities: 0, inDoubt: 0, repaired: 0, alerts: 0, differences: [] }

  constructor(parts: ReconcilerParts) {
    this.#parts = parts
  }

  get last(): Reconciliation {
    return this.#last
  }

  /** One round over all activities. */
  async round(): Promise<Reconciliation> {
    const { ledgers, logger, now } = this.#parts
    const totals = { activities: 0, inDoubt: 0, repaired: 0, alerts: 0 }
    const differences: (Difference & { activityId: number })[] = []
    const rounds = new Map<number, number>()
    for (const activityId of ledgers.activityIds()) {
      totals.activities++
      if (!(await ledgers.isVerified(activityId))) {
        totals.inDoubt++
        continue
      }
      const found = await this.#compare(activityId)
      if (found.length === 0) continue
      differences.push(...found.map((one) => ({ ...one, activityId })))
      rounds.set(activityId, (this.#rounds.get(activityId) ?? 0) + 1)
      if ((rounds.get(activityId) ?? 0) < ROUNDS_MIN) continue
      totals.alerts += found.length
      logger.error({ activityId, differences: found.slice(0, 10) }, 'ledger and PostgreSQL differ')
      totals.repaired += await this.#repair(activityId)
    }
    this.#rounds = rounds
    this.#last = { at: now(), ...totals, differences }
    return this.#last
  }

  async #compare(activityId: number): Promise<Difference[]> {
    const figures = await this.#parts.ledgers.figures(activityId)
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
    const { ledgers, db } = this.#parts
    let repaired = 0
    let cursor = 0
    do {
      const page = await ledgers.scanOrders(activityId, cursor)
      const rows = page.orders.map((order) =>
        rowOfLedger(activityId, order, ledgers.currencyOf(activityId, order.skuId)),
      )
      if (rows.length > 0) repaired += await db.orders.upsertMany(rows)
      cursor = page.next
    } while (cursor !== 0)
    return repaired
  }
}
