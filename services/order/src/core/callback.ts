/** What a payment callback says, and what it comes to. Pure. */

import { Fields, isOrderId, type OrderState, type Parsed } from '@bigtap/domain'
import { OUTCOME, type Outcome } from '@bigtap/protocol'

/** A callback of the provider. */
export interface PaymentCallback {
  readonly eventId: string
  readonly paymentId: string
  readonly orderId: string
  readonly type: 'paid' | 'failed'
  readonly amountCents: number
}

/** What an event led to; kept beside it, so that every repeat is answered the same. `kept`: nothing was changed. */
export type CallbackResult = 'paid' | 'failed' | 'refund_pending' | 'kept'

/** What has to be done for an event. */
export type CallbackPlan = 'confirm' | 'give-back' | 'note-failure'

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

/** Judges an event by the payment that it speaks of. A wrong amount is paid back, never taken, and the unit goes back on sale. */
export function planOf(
  event: { readonly type: string; readonly amountCents: number },
  payment: { readonly amountCents: number },
): CallbackPlan {
  if (event.type === 'failed') return 'note-failure'
  return payment.amountCents === event.amountCents ? 'confirm' : 'give-back'
}

/** What the ledger's answer means, with the order's state after it; undefined: not known yet, the event must come again. */
export function resultOf(
  plan: 'confirm' | 'give-back',
  outcome: Outcome,
  state: OrderState | undefined,
): CallbackResult | undefined {
  const isDone = outcome === OUTCOME.ok || outcome === OUTCOME.repeated
  if (isDone) return plan === 'confirm' ? 'paid' : 'refund_pending'
  if (outcome !== OUTCOME.wrongState && outcome !== OUTCOME.notFound) return undefined
  if (state === 'paid') return plan === 'confirm' ? 'paid' : 'kept'
  return state === undefined ? undefined : 'refund_pending'
}
