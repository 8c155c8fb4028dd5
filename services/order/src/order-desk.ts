/** Finds orders for their buyers: in PostgreSQL, else in the ledger as `accepted`. */

import type { Db } from '@bigtap/db'
import { isOrderId } from '@bigtap/domain'
import type { Ledger } from '@bigtap/store'
import type { OrderFacts } from './core/order-view.ts'

/** An order with its buyer. */
export interface FoundOrder extends OrderFacts {
  readonly uid: number
}

/** What the desk works with. */
export interface DeskParts {
  readonly db: Pick<Db, 'orders'>
  readonly ledger: Pick<Ledger, 'order'>
  /** Activities that may have orders which are not stored yet. */
  readonly activityIds: () => Iterable<number>
  readonly currencyOf: (activityId: number, skuId: number) => string
}

const LIST_MAX = 100

/** Looks orders up. */
export class OrderDesk {
  readonly #parts: DeskParts

  constructor(parts: DeskParts) {
    this.#parts = parts
  }

  /** A buyer's order; undefined when there is none, or it is another's. */
  async find(orderId: string, uid: number): Promise<FoundOrder | undefined> {
    if (!isOrderId(orderId)) return undefined
    const found = (await this.#stored(orderId)) ?? (await this.#accepted(orderId))
    return found?.uid === uid ? found : undefined
  }

  /** The activity of an order, whoever bought it. */
  async activityOf(orderId: string): Promise<number | undefined> {
    return ((await this.#stored(orderId)) ?? (await this.#accepted(orderId)))?.activityId
  }

  /** A buyer's stored orders, newest first. */
  listOf(uid: number): Promise<FoundOrder[]> {
    return this.#parts.db.orders.listByUid(uid, { limit: LIST_MAX })
  }

  /** A database that is away leaves the ledger as the only source. */
  async #stored(orderId: string): Promise<FoundOrder | undefined> {
    return this.#parts.db.orders.get(orderId).catch(async (error: unknown) => {
      const accepted = await this.#accepted(orderId)
      if (accepted) return accepted
      throw error
    })
  }

  async #accepted(orderId: string): Promise<FoundOrder | undefined> {
    for (const activityId of this.#parts.activityIds()) {
      const order = await this.#parts.ledger.order(activityId, orderId)
      if (!order) continue
      const currency = this.#parts.currencyOf(activityId, order.skuId)
      const state = order.state === 'held' ? 'accepted' : order.state
      return { ...order, activityId, currency, state }
    }
    return undefined
  }
}
