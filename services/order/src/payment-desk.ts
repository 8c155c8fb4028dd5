/** Takes the provider's callbacks: each counts once, however often and from wherever it comes. */

import type { Db, OrderRow, PaymentRow } from '@bigtap/db'
import type { Logger } from '@bigtap/kernel'
import { OUTCOME, type Outcome } from '@bigtap/protocol'
import type { LedgerClient } from '@bigtap/transport'
import { type CallbackResult, type PaymentCallback, planOf, resultOf } from './core/callback.ts'
import type { LedgerView } from './ledger-view.ts'
import type { FoundOrder, OrderDesk } from './order-desk.ts'
import { refundRowOf, rowOfLedger } from './order-rows.ts'

/** What an operator has to look at. */
export type PaymentAlert = 'wrong_amount' | 'unknown_payment' | 'unknown_order'

/** What the desk works with. */
export interface PaymentDeskParts {
  readonly db: Pick<Db, 'orders' | 'payments'>
  readonly counter: Pick<LedgerClient, 'confirm' | 'cancel'>
  readonly ledgers: Pick<LedgerView, 'order' | 'isOver'>
  readonly desk: Pick<OrderDesk, 'locate'>
  readonly logger: Logger
  readonly now: () => number
  readonly onAlert: (alert: PaymentAlert) => void
  readonly onResult: (result: CallbackResult) => void
}

/**
 * Works an event off:
 *
 * ```
 * store the event once ──► counter: confirm, or give back (idempotent) ──► store the order's row ──► note the result ──► answer
 * ```
 * The row is stored before the answer, not left to the event log: what the provider was told is in PostgreSQL, whatever
 * becomes of Redis. A handler that died on the way left an event without a result: the next callback finishes it.
 */
export class PaymentDesk {
  readonly #parts: PaymentDeskParts

  constructor(parts: PaymentDeskParts) {
    this.#parts = parts
  }

  /** Handles a callback whose signature was checked. `undefined`: not known yet, the provider is to come again. */
  async onCallback(callback: PaymentCallback): Promise<CallbackResult | 'unknown' | undefined> {
    const { payments } = this.#parts.db
    const payment = await payments.get(callback.paymentId)
    if (payment?.orderId !== callback.orderId) {
      this.#alert('unknown_payment', callback)
      return 'unknown'
    }
    // What was stored first under this event id counts, whatever a later body says.
    const { result, event } = await payments.recordEvent(callback)
    if (result !== null) return result as CallbackResult
    const reached = await this.#work(event, payment)
    if (reached === undefined) return undefined
    this.#parts.onResult(reached)
    return (await payments.settleEvent(event.eventId, reached)) as CallbackResult
  }

  async #work(
    event: Omit<PaymentCallback, 'type'> & { type: string },
    payment: PaymentRow,
  ): Promise<CallbackResult | undefined> {
    const { payments } = this.#parts.db
    const plan = planOf(event, payment)
    if (plan === 'note-failure') {
      await payments.setState(event.paymentId, ['created'], 'failed')
      return 'failed'
    }
    if (plan === 'give-back') this.#alert('wrong_amount', event)
    const order = await this.#parts.desk.locate(event.orderId)
    if (!order) {
      this.#alert('unknown_order', event)
      return undefined
    }
    const result = await this.#settle(plan, order)
    if (result === 'paid' || result === 'refund_pending')
      await payments.setState(event.paymentId, ['created', 'failed'], 'paid')
    return result
  }

  async #settle(plan: 'confirm' | 'give-back', order: FoundOrder): Promise<CallbackResult | undefined> {
    const { ledgers, db, now } = this.#parts
    const { activityId, orderId } = order
    const outcome = await this.#ask(plan, activityId, orderId)
    const inLedger = ledgers.isOver(activityId) ? undefined : await ledgers.order(activityId, orderId)
    const row: OrderRow = inLedger === undefined ? order.row : rowOfLedger(activityId, inLedger, order.currency)
    const result = resultOf(plan, outcome, row.state)
    if (result === 'paid') await db.orders.upsertMany([row])
    if (result === 'refund_pending') await db.orders.upsertMany([refundRowOf(row, now())])
    return result
  }

  /** An activity that is over has no ledger that could take the money. */
  async #ask(plan: 'confirm' | 'give-back', activityId: number, orderId: string): Promise<Outcome> {
    const { ledgers, counter } = this.#parts
    if (ledgers.isOver(activityId)) return OUTCOME.notFound
    const reply = await (plan === 'confirm'
      ? counter.confirm(activityId, orderId)
      : counter.cancel(activityId, orderId))
    return reply.outcome
  }

  #alert(alert: PaymentAlert, { orderId, paymentId, amountCents }: Omit<PaymentCallback, 'type' | 'eventId'>): void {
    this.#parts.onAlert(alert)
    this.#parts.logger.error({ alert, orderId, paymentId, amountCents }, 'a payment needs an eye on it')
  }
}
