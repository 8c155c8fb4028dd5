/** The rows that events and ledger records make. */

import type { OrderRow } from '@bigtap/db'
import type { OrderEvent } from '@bigtap/protocol'
import type { LedgerOrder } from '@bigtap/store'

/**
 * Version of an order whose money goes back. In the ledger an order has two events, held (1) and its end (2); a refund
 * happens in PostgreSQL alone, and what the log still brings of the order must not undo it.
 */
export const REFUND_VERSION = 3

/** One row per order: its newest event, with the time of the earliest. */
export function rowsOf(events: readonly OrderEvent[]): OrderRow[] {
  const rows = new Map<string, OrderRow>()
  for (const event of events) {
    const row = rowOfEvent(event)
    const known = rows.get(row.orderId)
    const createdAt = Math.min(row.createdAt, known?.createdAt ?? row.createdAt)
    rows.set(row.orderId, { ...(known && known.version >= row.version ? known : row), createdAt })
  }
  return [...rows.values()]
}

/** The row that an event makes. */
export function rowOfEvent({ type, at, ...event }: OrderEvent): OrderRow {
  return { ...event, state: type, createdAt: at, updatedAt: at }
}

/** The row of an order as the ledger has it. */
export function rowOfLedger(activityId: number, order: LedgerOrder, currency: string): OrderRow {
  return { ...order, activityId, tokenId: order.orderId.slice(1), currency }
}

/** The row of an order whose money goes back. */
export function refundRowOf(row: OrderRow, now: number): OrderRow {
  return { ...row, state: 'refund_pending', version: REFUND_VERSION, updatedAt: now }
}
