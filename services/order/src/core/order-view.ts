/** An order as its buyer sees it, from PostgreSQL's row or, before it is stored, from the ledger. Pure. */

import type { OrderState } from '@bigtap/domain'

/** What both sources tell. Times in ms since the epoch. */
export interface OrderFacts {
  readonly orderId: string
  readonly activityId: number
  readonly skuId: number
  readonly quantity: number
  readonly priceCents: number
  readonly currency: string
  readonly state: OrderState
  readonly createdAt: number
  readonly payBy: number
  readonly updatedAt: number
}

/** The JSON of an order; never the buyer's number or the token. */
export function orderView(order: OrderFacts): OrderFacts {
  const { orderId, activityId, skuId, quantity, priceCents, currency, state, createdAt, payBy, updatedAt } = order
  return { orderId, activityId, skuId, quantity, priceCents, currency, state, createdAt, payBy, updatedAt }
}

/** May it be paid for now? */
export function isPayable(state: OrderState): boolean {
  return state === 'held' || state === 'accepted'
}
