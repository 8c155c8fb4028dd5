/** The life of an order; `accepted` is an order that PostgreSQL does not have yet. */
export type OrderState = 'accepted' | 'held' | 'paid' | 'expired' | 'cancelled' | 'refund_pending' | 'refunded'

/** The states of an order. */
export const ORDER_STATES: readonly OrderState[] = [
  'accepted',
  'held',
  'paid',
  'expired',
  'cancelled',
  'refund_pending',
  'refunded',
]

/** What happens to an order. `moneyCame`: a payment that cannot be taken (late, or of a wrong amount). */
export type OrderEvent = 'stored' | 'paid' | 'expired' | 'cancelled' | 'moneyCame' | 'refund' | 'refunded'

/** The events of an order. */
export const ORDER_EVENTS: readonly OrderEvent[] = [
  'stored',
  'paid',
  'expired',
  'cancelled',
  'moneyCame',
  'refund',
  'refunded',
]

/** Transitions; what is not in the table is refused and changes nothing. */
export const ORDER_TABLE: Readonly<Record<OrderState, Partial<Record<OrderEvent, OrderState>>>> = {
  accepted: { stored: 'held' },
  held: { paid: 'paid', expired: 'expired', cancelled: 'cancelled', moneyCame: 'refund_pending' },
  paid: { refund: 'refund_pending' },
  expired: { moneyCame: 'refund_pending' },
  cancelled: { moneyCame: 'refund_pending' },
  refund_pending: { refunded: 'refunded' },
  refunded: {},
}

/** The next state, or undefined where the event is refused. */
export function orderStep(state: OrderState, event: OrderEvent): OrderState | undefined {
  return ORDER_TABLE[state][event]
}
