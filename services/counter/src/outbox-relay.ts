/** Carries the outbox to the event log, in order and at least once: the cursor moves after the log has taken it. */

import { encodeOrderEvent, type OrderEvent } from '@bigtap/protocol'
import type { Ledger, LedgerOrder } from '@bigtap/store'

/** Where order events go. */
export interface OrderTopic {
  send(topic: string, records: { key: string; value: Uint8Array }[]): Promise<void>
}

/** What the relay works with. */
export interface RelayParts {
  readonly ledger: Ledger
  readonly topic: OrderTopic
  readonly currencyOf: (activityId: number, skuId: number) => string
  readonly onOrder: (activityId: number, order: LedgerOrder) => void
}

const ENTRIES_MAX = 200

/** Makes the work of one activity: true when there may be more. */
export function createRelay({
  ledger,
  topic,
  currencyOf,
  onOrder,
}: RelayParts): (activityId: number) => Promise<boolean> {
  return async (activityId) => {
    const cursor = await ledger.outboxCursor(activityId)
    const entries = await ledger.readOutbox(activityId, cursor, ENTRIES_MAX)
    const last = entries.at(-1)
    if (!last) return false
    const orders = entries.flatMap((entry) => entry.orders)
    for (const order of orders) onOrder(activityId, order)
    const records = orders.map((order) => ({
      key: order.orderId,
      value: encodeOrderEvent(eventOf(activityId, order, currencyOf(activityId, order.skuId))),
    }))
    await topic.send('orders', records)
    await ledger.ackOutbox(activityId, last.id)
    return entries.length === ENTRIES_MAX
  }
}

/** An order's state as an event. */
export function eventOf(activityId: number, order: LedgerOrder, currency: string): OrderEvent {
  const { orderId, skuId, uid, quantity, priceCents, version, seq, payBy, state } = order
  const at = order.updatedAt
  return {
    orderId,
    activityId,
    skuId,
    uid,
    quantity,
    priceCents,
    currency,
    type: state,
    version,
    seq,
    at,
    payBy,
    tokenId: orderId.slice(1),
  }
}
