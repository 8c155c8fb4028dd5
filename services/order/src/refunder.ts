import type { Db } from '@bigtap/db'

const BATCH = 100

/**
 * The sandbox's refunds: money that could not be taken goes back `afterMs` later. A real provider's adapter stands here: it
 * asks for the refund by the payment's id, and notes it when the provider says that it is done.
 */
export async function refundRound(
  { orders, payments }: Pick<Db, 'orders' | 'payments'>,
  { now, afterMs }: { now: number; afterMs: number },
): Promise<number> {
  const pending = await orders.listByState('refund_pending', { limit: BATCH })
  const due = pending.filter(({ updatedAt }) => updatedAt + afterMs <= now)
  for (const { orderId, version } of due) {
    for (const { paymentId } of await payments.listByOrder(orderId))
      await payments.setState(paymentId, ['paid'], 'refunded')
    await orders.setState(orderId, { from: ['refund_pending'], to: 'refunded', version })
  }
  return due.length
}
