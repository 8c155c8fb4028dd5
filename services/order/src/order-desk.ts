/** Finds orders: in PostgreSQL, else in the ledger as `accepted`. */

import type { Db, OrderRow } from '@bigtap/db'
import { isOrderId } from '@bigtap/domain'
import { CodedError } from '@bigtap/kernel'
import type { OrderFacts } from './core/order-view.ts'
import type { LedgerView } from './ledger-view.ts'
import { rowOfLedger } from './order-rows.ts'

/** An order with its buyer. `row` is what PostgreSQL has, or would have. */
export interface FoundOrder extends OrderFacts {
  readonly uid: number
  readonly row: OrderRow
}

/** What the desk works with. */
export interface DeskParts {
  readonly db: Pick<Db, 'orders'>
  readonly ledgers: Pick<LedgerView, 'find' | 'order' | 'isWhole' | 'currencyOf'>
}

const LIST_MAX = 100

/** Looks orders up. */
export class OrderDesk {
  readonly #parts: DeskParts

  constructor(parts: DeskParts) {
    this.#parts = parts
  }

  /** A buyer's order; undefined when there is none, or it is another's. Throws ORDER_UNCERTAIN. */
  async find(orderId: string, uid: number): Promise<FoundOrder | undefined> {
    const found = await this.locate(orderId)
    return found?.uid === uid ? found : undefined
  }

  /** An order, whoever bought it. Throws ORDER_UNCERTAIN where a source is away, for then "none" is not known. */
  async locate(orderId: string): Promise<FoundOrder | undefined> {
    if (!isOrderId(orderId)) return undefined
    const stored = await this.#stored(orderId)
    if (stored instanceof Error) return (await this.#accepted(orderId)) ?? uncertain(orderId, stored)
    if (stored?.state === 'held') return foundOf(await this.#newest(stored))
    if (stored) return foundOf(stored)
    const accepted = await this.#accepted(orderId)
    if (accepted) return accepted
    return (await this.#parts.ledgers.isWhole()) ? undefined : uncertain(orderId, undefined)
  }

  /** A buyer's stored orders, newest first. */
  async listOf(uid: number): Promise<FoundOrder[]> {
    return (await this.#parts.db.orders.listByUid(uid, { limit: LIST_MAX })).map((row) => foundOf(row))
  }

  async #stored(orderId: string): Promise<OrderRow | Error | undefined> {
    try {
      return await this.#parts.db.orders.get(orderId)
    } catch (error) {
      if (error instanceof CodedError) return error // the database is away: the ledger may still tell
      throw error
    }
  }

  /** A row that is held may be behind what the ledger did a moment ago. */
  async #newest(row: OrderRow): Promise<OrderRow> {
    const { ledgers } = this.#parts
    const order = await ledgers.order(row.activityId, row.orderId).catch(() => undefined) // Redis is away: the row stands
    return order && order.version > row.version ? rowOfLedger(row.activityId, order, row.currency) : row
  }

  async #accepted(orderId: string): Promise<FoundOrder | undefined> {
    const placed = await this.#parts.ledgers.find(orderId)
    if (!placed) return undefined
    const { activityId, order } = placed
    const found = foundOf(rowOfLedger(activityId, order, this.#parts.ledgers.currencyOf(activityId, order.skuId)))
    return order.state === 'held' ? { ...found, state: 'accepted' } : found
  }
}

function foundOf(row: OrderRow): FoundOrder {
  return { ...row, row }
}

function uncertain(orderId: string, cause: unknown): never {
  throw new CodedError({ code: 'ORDER_UNCERTAIN', message: 'a source of orders is away', data: { orderId }, cause })
}
