/** One buyer's way through the sale, as a person at a browser (or a script) would go it. */

import type { Answer, Client } from './client.ts'
import type { BuyerPlan } from './plan.ts'
import { type AnswerClass, type CrowdStats, classify } from './stats.ts'

/** What all buyers share. Times are ms since the epoch. */
export interface Sale {
  readonly activityId: number
  readonly skuIds: readonly number[]
  readonly opensAt: number
  readonly endsAt: number
  readonly client: Client
  readonly stats: CrowdStats
  readonly now: () => number
  readonly sleep: (ms: number) => Promise<void>
}

const RETRY_MS_DEFAULT = 500
const RETRY_MS_MIN = 50
const MONEY_TRIES_MAX = 40
const PAID_POLLS_MAX = 12
const PAID_POLL_MS = 300
const PAID_POLL_MS_MAX = 2_000

/** Runs one buyer to the end; never rejects. */
export async function runBuyer(plan: BuyerPlan, session: string, sale: Sale): Promise<void> {
  const token = plan.kind === 'bot' ? await script(plan, session, sale) : await person(plan, session, sale)
  if (token !== undefined && plan.leavesToken) sale.stats.tokensLeft++
  else if (token !== undefined) await checkOut(plan, session, sale, token)
  sale.stats.finished++
}

/** A person waits as told, gives up when patience ends, and stops at a final answer. */
async function person(plan: BuyerPlan, session: string, sale: Sale): Promise<string | undefined> {
  const until = Math.min(Math.max(sale.now(), sale.opensAt) + plan.patienceMs, sale.endsAt)
  let isServed = false
  let path: string | undefined
  while (sale.now() < until) {
    path ??= await fetchPath(plan, session, sale)
    if (path === undefined) continue
    if (path === '') break
    const answers = await Promise.all(Array.from({ length: plan.clicks }, () => ask(plan, session, sale, path ?? '')))
    const granted = answers.find((one) => one.kind === 'granted')
    const last = granted ?? answers.at(-1)
    if (!last) break
    if (['granted', 'soldOut', 'refused', 'queued'].includes(last.kind)) isServed = true
    if (granted) return done(sale, isServed, granted.token)
    if (last.status === 410 || last.status === 409 || last.status === 403) return done(sale, isServed, undefined)
    if (last.status === 400 || last.status === 425) path = undefined // the ticket ran out: take a new one
    await sale.sleep(Math.max(last.retryAfterMs ?? RETRY_MS_DEFAULT, RETRY_MS_MIN))
  }
  if (path !== '') sale.stats.gaveUp++
  return done(sale, isServed || path === '', undefined)
}

function done(sale: Sale, isServed: boolean, token: string | undefined): string | undefined {
  if (isServed) sale.stats.normalServed++
  return token
}

/** A script fires at its own beat whatever it is told. */
async function script(plan: BuyerPlan, session: string, sale: Sale): Promise<string | undefined> {
  let path: string | undefined
  for (let round = 0; round < plan.botAsks && sale.now() < sale.endsAt; round++) {
    path ??= await fetchPath(plan, session, sale, true)
    if (path) {
      const asked = path
      const answers = await Promise.all(Array.from({ length: plan.clicks }, () => ask(plan, session, sale, asked)))
      const granted = answers.find((one) => one.kind === 'granted')
      if (granted) return granted.token
      if (answers.every((one) => one.status === 410)) return undefined
    } else if (path === '') return undefined
    await sale.sleep(plan.botEveryMs)
  }
  return undefined
}

/** The hidden purchase path; '' when the sale is over for this product, undefined when it must be asked for again. */
async function fetchPath(plan: BuyerPlan, session: string, sale: Sale, isScript = false): Promise<string | undefined> {
  const sku = sale.skuIds[plan.skuIndex]
  const answer = await sale.client.call({
    method: 'GET',
    path: `/v1/activities/${sale.activityId}/skus/${sku}/path`,
    session,
  })
  if (answer.status === 200 && typeof answer.body?.path === 'string') return answer.body.path
  if (answer.status === 410 || answer.status === 403) return ''
  if (!isScript) {
    const opensInMs = sale.opensAt - sale.now()
    await sale.sleep(answer.status === 425 && opensInMs > 0 ? opensInMs : (retryAfter(answer) ?? RETRY_MS_DEFAULT))
  }
  return undefined
}

interface Asked {
  readonly kind: AnswerClass
  readonly status: number
  readonly token: string | undefined
  readonly retryAfterMs: number | undefined
}

async function ask(plan: BuyerPlan, session: string, sale: Sale, path: string): Promise<Asked> {
  const answer = await sale.client.call({ method: 'GET', path, session })
  const code = typeof answer.body?.code === 'string' ? answer.body.code : undefined
  const kind = classify(answer.status, code)
  sale.stats.onAnswer(plan.kind, kind, answer.latencyMs, sale.now())
  if (answer.status >= 500 && answer.status !== 503) sale.stats.complain('unexpected-status', `buy ${answer.status}`)
  const token = typeof answer.body?.token === 'string' ? answer.body.token : undefined
  return { kind, status: answer.status, token, retryAfterMs: retryAfter(answer) }
}

/** Cart, then payment, cancel or nothing: as the plan says. */
async function checkOut(plan: BuyerPlan, session: string, sale: Sale, token: string): Promise<void> {
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
    sale.stats.onOrder({ orderId, uid: plan.uid, skuId: sale.skuIds[plan.skuIndex] ?? 0, kind: plan.kind })
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

function retryAfter(answer: Answer): number | undefined {
  const ms = answer.body?.retryAfterMs
  return typeof ms === 'number' && ms >= 0 && ms <= 60_000 ? ms : undefined
}
