/** Takes the provider's callbacks: each counts once, however often and from wherever it comes. */

import type { Db } from '@bigtap/db'
import type { Logger } from '@bigtap/kernel'
import type { LedgerClient } from '@bigtap/transport'
import { type CallbackResult, type PaymentCallback, planOf, resultOf } from './core/callback.ts'

/** What the desk works with. */
export interface PaymentDeskParts {
  readonly db: Pick<Db, 'orders' | 'payments'>
  readonly ledger: Pick<LedgerClient, 'confirm'>
  readonly activityOf: (orderId: string) => Promise<number | undefined>
  readonly logger: Logger
  readonly onAlert: () => void
}

/** States from which money that cannot be taken makes a refund. */
const REFUND_FROM = ['held', 'expired', 'cancelled'] as const

/**
 * Works an event off:
 *
 * ```
 * store the event once ──► confirm at the ledger (idempotent) ──► note the result ──► answer
 * ```
 * A handler that died on the way left an event without a result: the next callback finishes it. `undefined`: the ledger
 * did not answer; the provider is told to come again.
 */
export class PaymentDesk {
  readonly #parts: PaymentDeskParts

  constructor(parts: PaymentDeskParts) {
    this.#parts = parts
  }

  /** Handles a callback whose signature was checked. */
  async onCallback(callback: PaymentCallback): Promise<CallbackResult | undefined> {
    const { payments } = this.#parts.db
    const payment = await payments.get(callback.paymentId)
    const plan = planOf(callback, payment)
    if (plan === 'ignore') {
      this.#parts.logger.warn({ paymentId: callback.paymentId }, 'callback for a payment that is not known')
      return 'unknown-payment'
    }
    const receipt = await payments.recordEvent(callback)
    if (receipt.result !== null) return receipt.result as CallbackResult
    const result = await this.#work(callback, plan)
    if (result === undefined) return undefined
    return (await payments.settleEvent(callback.eventId, result)) as CallbackResult
  }

  async #work(
    callback: PaymentCallback,
    plan: 'confirm' | 'refund' | 'note-failure',
  ): Promise<CallbackResult | undefined> {
    const { payments } = this.#parts.db
    if (plan === 'note-failure') {
      await payments.setState(callback.paymentId, ['created'], 'failed')
      return 'failed'
    }
    const result = plan === 'refund' ? this.#wrongAmount(callback) : await this.#confirm(callback.orderId)
    if (result === undefined) return undefined
    await payments.setState(callback.paymentId, ['created', 'failed'], 'paid')
    // An order that was paid before, by another payment, keeps its unit: only the money of this one goes back.
    if (result === 'refund')
      await this.#parts.db.orders.setState(callback.orderId, { from: REFUND_FROM, to: 'refund_pending' })
    return result
  }

  async #confirm(orderId: string): Promise<CallbackResult | undefined> {
    const activityId = await this.#parts.activityOf(orderId)
    if (activityId === undefined) return undefined
    try {
      const { outcome } = await this.#parts.ledger.confirm(activityId, orderId)
      return resultOf(outcome)
    } catch (error) {
      this.#parts.logger.warn({ error, orderId }, 'ledger did not answer a confirmation, the callback must come again')
      return undefined
    }
  }

  #wrongAmount({ orderId, amountCents }: PaymentCallback): CallbackResult {
    this.#parts.onAlert()
    this.#parts.logger.error({ orderId, amountCents }, 'payment of a wrong amount: it is paid back')
    return 'refund'
  }
}
