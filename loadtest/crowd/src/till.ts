/** From the token to the paid order: cart, payment, and looking after it. */

import { RETRY_MS_DEFAULT, RETRY_MS_MIN, retryAfter, type Sale } from './asking.ts'
import type { BuyerPlan } from './buyer-plan.ts'
import type { Answer } from './client.ts'
import type { Visit } from './visit.ts'

const MONEY_TRIES_MAX = 40
const PAID_POLLS_MAX = 12
const PAID_POLL_MS = 300
const PAID_POLL_MS_MAX = 2_000

/** Cart, then payment, cancel or nothing: as the plan says. */
export async function checkOut({ plan, session }: Visit, sale: Sale, token: string): Promise<void> {
  await sale.sleep(plan.thinkMs)
  const orderId = await putInCart(plan, session, sale, token)
  if (orderId === undefined) return
  if (plan.repeatsCart) await repeatCart(session, sale, token, orderId)
  await sale.sleep(plan.thinkMs)
  if (plan.cancels) await cancel(session, sale, orderId)
  else if (plan.pays) await pay(session, sale, orderId)
}

async function putInCart(plan: BuyerPlan, session: string, sale: Sale, token: string): Promise<string | undefined> {
  const answer = await untilAnswered(sale, () =>
    sale.client.call({ method: 'POST', path: '/v1/cart', session, body: { token } }),
  )
  const orderId = answer.body?.orderId
  if ((answer.status === 201 || answer.status === 200) && typeof orderId === 'string') {
    sale.stats.onOrder({
      orderId,
      uid: plan.uid,
      skuId: sale.skuIds[plan.skuIndex] ?? 0,
      kind: plan.kind,
      profile: plan.profile,
    })
    return orderId
  }
  if (![0, 409, 410, 422, 503].includes(answer.status))
    sale.stats.complain('unexpected-status', `cart ${answer.status}`)
  return undefined
}

async function repeatCart(session: string, sale: Sale, token: string, orderId: string): Promise<void> {
  const again = await untilAnswered(sale, () =>
    sale.client.call({ method: 'POST', path: '/v1/cart', session, body: { token } }),
  )
  const isSame = again.status === 200 && again.body?.orderId === orderId
  if (!isSame && again.status !== 503 && again.status !== 0)
    sale.stats.complain('cart-answer-changed', `order ${orderId}: repeat answered ${again.status}`)
}

async function cancel(session: string, sale: Sale, orderId: string): Promise<void> {
  const answer = await untilAnswered(sale, () =>
    sale.client.call({ method: 'POST', path: `/v1/orders/${orderId}/cancel`, session }),
  )
  if (answer.status === 200) sale.stats.cancelled++
}

/** Asks for a payment, then acts as the buyer on the sandbox's page, then looks until the order is paid. */
async function pay(session: string, sale: Sale, orderId: string): Promise<void> {
  const payment = await untilAnswered(sale, () =>
    sale.client.call({ method: 'POST', path: `/v1/orders/${orderId}/payment`, session, body: { method: 'sandbox' } }),
  )
  if (payment.status !== 202 || typeof payment.body?.redirectUrl !== 'string') return
  sale.stats.paymentsAccepted++
  const { pathname } = new URL(payment.body.redirectUrl, 'http://localhost')
  await untilAnswered(sale, () =>
    sale.client.call({ method: 'POST', path: pathname, session, body: { outcome: 'paid' } }),
  )
  for (let poll = 0; poll < PAID_POLLS_MAX; poll++) {
    const order = await sale.client.call({ method: 'GET', path: `/v1/orders/${orderId}`, session })
    if (order.body?.state === 'paid') {
      sale.stats.paid++
      return
    }
    if (order.status === 404) sale.stats.complain('order-lost', `order ${orderId} is unknown to its buyer`)
    if (order.status === 404 || ['expired', 'refund_pending', 'refunded'].includes(String(order.body?.state))) return
    await sale.sleep(Math.min(PAID_POLL_MS * 2 ** poll, PAID_POLL_MS_MAX))
  }
}

/** Repeats a call that had no answer, or was told to come back, with bounded tries. */
async function untilAnswered(sale: Sale, call: () => Promise<Answer>): Promise<Answer> {
  let answer = await call()
  for (let tries = 1; tries < MONEY_TRIES_MAX && (answer.status === 0 || answer.status === 503); tries++) {
    await sale.sleep(Math.max(retryAfter(answer) ?? RETRY_MS_DEFAULT, RETRY_MS_MIN))
    answer = await call()
  }
  return answer
}
