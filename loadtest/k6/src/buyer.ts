/** One buyer's way through the sale, in k6's terms: session, path, buy with retries as told, cart, payment. */

import { check, sleep } from 'k6'
import http, { type RefinedResponse, type ResponseType } from 'k6/http'

/** What the sale is; `baseUrl` is the public origin. */
export interface SaleTarget {
  readonly baseUrl: string
  readonly activityId: number
  readonly skuId: number
  readonly patienceSeconds: number
}

/** How a buyer's visit ended. */
export type VisitEnd = 'paid' | 'sold-out' | 'refused' | 'gave-up'

type Body = Record<string, unknown>
const RETRY_SECONDS_DEFAULT = 0.5
const TURNS_MAX = 200

/** Runs one visit; `now` is ms since the epoch. */
export function visit(target: SaleTarget, uid: number, now: () => number): VisitEnd {
  const session = post(target, '/v1/session', { uid }, undefined)
  if (!check(session, { 'session is opened': (answer) => answer.status === 200 })) return 'refused'
  const token = String(bodyOf(session).session)
  const granted = untilGranted(target, token, now() + target.patienceSeconds * 1000, now)
  if (typeof granted === 'string') return granted
  return payFor(target, token, String(granted.token))
}

function untilGranted(target: SaleTarget, session: string, until: number, now: () => number): Body | VisitEnd {
  let path = ''
  for (let turn = 0; turn < TURNS_MAX && now() < until; turn++) {
    const url = path === '' ? `/v1/activities/${target.activityId}/skus/${target.skuId}/path` : path
    const answer = http.get(`${target.baseUrl}${url}`, { headers: authorization(session) })
    check(answer, { 'answer is one of the contract': (one) => one.status < 500 || one.status === 503 })
    if (answer.status === 410) return 'sold-out'
    if (answer.status === 403 || answer.status === 409) return 'refused'
    if (answer.status === 200 && path !== '') return bodyOf(answer)
    if (answer.status === 200) path = String(bodyOf(answer).path)
    else if (answer.status === 400) path = ''
    if (answer.status !== 200) sleep(retrySeconds(answer))
  }
  return 'gave-up'
}

function payFor(target: SaleTarget, session: string, token: string): VisitEnd {
  const order = post(target, '/v1/cart', { token }, session)
  if (order.status === 410) return 'sold-out'
  if (!check(order, { 'order is held': (answer) => answer.status === 201 || answer.status === 200 })) return 'refused'
  const payment = post(target, `/v1/orders/${bodyOf(order).orderId}/payment`, { method: 'sandbox' }, session)
  if (!check(payment, { 'payment is accepted': (answer) => answer.status === 202 })) return 'refused'
  const path = String(bodyOf(payment).redirectUrl).replace(/^https?:\/\/[^/]+/, '')
  const paid = post(target, path, { outcome: 'paid' }, session)
  check(paid, { 'payment goes through': (answer) => answer.status < 300 })
  return 'paid'
}

function post(target: SaleTarget, path: string, body: unknown, session: string | undefined) {
  const headers = { 'content-type': 'application/json', ...(session === undefined ? {} : authorization(session)) }
  return http.post(`${target.baseUrl}${path}`, JSON.stringify(body), { headers })
}

function authorization(session: string): Record<string, string> {
  return { authorization: `Bearer ${session}` }
}

function bodyOf(answer: RefinedResponse<ResponseType | undefined>): Body {
  const value: unknown = JSON.parse(String(answer.body))
  return typeof value === 'object' && value !== null ? (value as Body) : {}
}

function retrySeconds(answer: RefinedResponse<ResponseType | undefined>): number {
  const ms = answer.body ? bodyOf(answer).retryAfterMs : undefined
  return typeof ms === 'number' && ms > 0 ? ms / 1000 : RETRY_SECONDS_DEFAULT
}
