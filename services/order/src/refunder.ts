import type { Db } from '@bigtap/db'

const BATCH = 100

/**
 * The sandbox's refunds: money that could not be taken goes back at once. A real provider's adapter stands here: it asks
 * for the refund by the payment's id, and notes it when the provider says that it is done.
 */
export async function refundRound({ orders, payments }: Pick<Db, 'orders' | 'payments'>): Promise<number> {
  const pending = await orders.listByState('refund_pending', { limit: BATCH })
  for (const { orderId } of pending) {
    for (const { paymentId } of await payments.listByOrder(orderId))
      await payments.setState(paymentId, ['paid'], 'refunded')
    await orders.setState(orderId, { from: ['refund_pending'], to: 'refunded' })
  }
  return pending.length
}
