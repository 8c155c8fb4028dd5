/** What a payment callback says, and what it comes to. Pure. */

import { Fields, isOrderId, type Parsed } from '@bigtap/domain'
import { OUTCOME, type Outcome } from '@bigtap/protocol'

/** A callback of the provider. */
export interface PaymentCallback {
  readonly eventId: string
  readonly paymentId: string
  readonly orderId: string
  readonly type: 'paid' | 'failed'
  readonly amountCents: number
}

/** What an event led to; kept beside it, so that every repeat is answered the same. */
export type CallbackResult = 'paid' | 'failed' | 'refund' | 'unknown-payment'

/** What has to be done for a callback. */
export type CallbackPlan = 'confirm' | 'refund' | 'note-failure' | 'ignore'

const ID_CHARS_MAX = 128
const AMOUNT_MAX = 100_000_000_000

/** Reads a callback's body. */
export function parseCallback(value: unknown): Parsed<PaymentCallback> {
  const fields = new Fields(value)
  const callback = {
    eventId: fields.text('eventId', ID_CHARS_MAX),
    paymentId: fields.text('paymentId', ID_CHARS_MAX),
    orderId: fields.text('orderId', ID_CHARS_MAX),
    type: fields.oneOf('type', ['paid', 'failed'] as const),
    amountCents: fields.number('amountCents', { min: 0, max: AMOUNT_MAX }),
  }
  if (!isOrderId(callback.orderId)) fields.errors.push(`orderId is no order id: ${callback.orderId}`)
  return fields.done(callback)
}

/** Judges a callback by the payment that it speaks of. A wrong amount is paid back, never taken. */
export function planOf(
  callback: PaymentCallback,
  payment: { orderId: string; amountCents: number } | undefined,
): CallbackPlan {
  if (!payment || payment.orderId !== callback.orderId) return 'ignore'
  if (callback.type === 'failed') return 'note-failure'
  return payment.amountCents === callback.amountCents ? 'confirm' : 'refund'
}

/** What the ledger's answer to a confirmation means; undefined: not known yet, the callback must come again. */
export function resultOf(outcome: Outcome): CallbackResult | undefined {
  if (outcome === OUTCOME.ok || outcome === OUTCOME.repeated) return 'paid'
  return outcome === OUTCOME.wrongState || outcome === OUTCOME.notFound ? 'refund' : undefined
}
