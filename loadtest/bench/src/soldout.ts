/**
 * The last unit is paid → every limiter answers sold out; a unit is added → every limiter sells again. Real processes,
 * the platform of `npm start`; the baseline is the same platform without routers, whose fronts only poll the catalog.
 */

import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { AdminClient } from '@bigtap/local/admin'
import { parseArgs } from '@bigtap/local/args'
import { type Platform, startPlatform } from '@bigtap/local/platform'
import type { BenchResult } from './result.ts'

const ROUNDS = 30
const PORT_BASE = 18_000
const OPENS_IN_MS = 4_000
const WAIT_MS_MAX = 15_000
const LOOK_EVERY_MS = 4
const PAYMENT_SECRET = 'payment-secret-of-the-bench'
const PRICE_CENTS = 100

interface Times {
  readonly soldOut: number[]
  readonly reopened: number[]
}

/** Goals: sold out everywhere <= 500 ms p99, selling again <= 1 s. */
export async function runSoldout(): Promise<BenchResult[]> {
  process.env.BIGTAP_PAYMENT_SECRET = PAYMENT_SECRET
  const baseline = await measure(0)
  const value = await measure(2)
  return (['soldOut', 'reopened'] as const).flatMap((what) =>
    ([50, 99, 100] as const).map((percent) => {
      const [ours, theirs] = [percentile(value[what], percent), percentile(baseline[what], percent)]
      const name = `soldout ${what === 'soldOut' ? 'everywhere' : 'to selling again'} ${percent === 100 ? 'max' : `p${percent}`}`
      return { name, unit: 'ms', value: ours, baseline: theirs, ratio: ours / theirs, runs: ROUNDS }
    }),
  )
}

async function measure(routers: number): Promise<Times> {
  const parsed = parseArgs(['--idle', '--port-base', `${PORT_BASE}`])
  if (!parsed.ok) throw new Error(parsed.errors.join('; '))
  const platform = await startPlatform({ ...parsed.options, routers }, () => undefined)
  try {
    const admin = new AdminClient(platform.ports.masters.map((port) => `http://127.0.0.1:${port}`))
    await admin.login('operator', platform.secrets.operatorPassword)
    const sale = await defineSale(admin)
    const session = await signIn(platform, 1)
    await untilAll(platform, `/v1/activities/${sale.activityId}/skus/${sale.skuIds[0]}/path`, session, 200)
    const times: Times = { soldOut: [], reopened: [] }
    for (const [index, skuId] of sale.skuIds.entries()) {
      await round({ platform, admin, activityId: sale.activityId, skuId, uid: 1_000 + index }, times)
    }
    return times
  } finally {
    await platform.stop()
  }
}

interface Round {
  readonly platform: Platform
  readonly admin: AdminClient
  readonly activityId: number
  readonly skuId: number
  readonly uid: number
}

async function round({ platform, admin, activityId, skuId, uid }: Round, times: Times): Promise<void> {
  const origin = `http://127.0.0.1:${platform.ports.origin}`
  const session = await signIn(platform, uid)
  const path = `/v1/activities/${activityId}/skus/${skuId}/path`
  const orderId = await order(origin, path, session)
  const payment = await post(`${origin}/v1/orders/${orderId}/payment`, session, { method: 'sandbox' })
  const paidAt = performance.now()
  await callBack(origin, { orderId, paymentId: String(payment.paymentId) })
  await untilAll(platform, path, session, 410)
  times.soldOut.push(performance.now() - paidAt)
  const addedAt = performance.now()
  await admin.call('POST', `activities/${activityId}/skus/${skuId}/stock`, { op: 'add', units: 1, reason: 'bench' })
  await untilAll(platform, path, session, 200)
  times.reopened.push(performance.now() - addedAt)
}

async function defineSale(admin: AdminClient): Promise<{ activityId: number; skuIds: number[] }> {
  const opensAt = Date.now() + OPENS_IN_MS
  const times = { opensAt, closesAt: opensAt + 3_600_000 }
  const terms = { title: 'bench', rule: 'once-per-product', ...times }
  const { id: activityId } = await admin.call<{ id: number }>('POST', 'activities', terms)
  const skuIds: number[] = []
  for (let index = 0; index < ROUNDS; index++) {
    const sku = { title: `${index}`, priceCents: PRICE_CENTS, currency: 'CNY', stock: 1, limitPerBuyer: 1 }
    skuIds.push((await admin.call<{ id: number }>('POST', `activities/${activityId}/skus`, sku)).id)
  }
  await admin.call('POST', `activities/${activityId}/actions/schedule`)
  return { activityId, skuIds }
}

/** Waits until every limiter answers the path call with the status. */
async function untilAll(platform: Platform, path: string, session: string, status: number): Promise<void> {
  await Promise.all(
    platform.ports.limiters.map(async (port) => {
      const deadline = performance.now() + WAIT_MS_MAX
      while ((await ask(`http://127.0.0.1:${port}${path}`, session)).status !== status) {
        if (performance.now() > deadline) throw new Error(`limiter ${port} did not answer ${status}`)
        await sleep(LOOK_EVERY_MS)
      }
    }),
  )
}

async function order(origin: string, path: string, session: string): Promise<string> {
  const deadline = performance.now() + WAIT_MS_MAX
  const { path: buy } = (await ask(`${origin}${path}`, session)).body
  for (;;) {
    const { status, body } = await ask(`${origin}${buy}`, session)
    if (status === 200) return String((await post(`${origin}/v1/cart`, session, { token: body.token })).orderId)
    if (performance.now() > deadline) throw new Error(`no grant, the last answer is ${status}`)
    await sleep(50)
  }
}

async function signIn({ ports }: Platform, uid: number): Promise<string> {
  return String((await post(`http://127.0.0.1:${ports.origin}/v1/session`, '', { uid })).session)
}

async function callBack(origin: string, ids: { orderId: string; paymentId: string }): Promise<void> {
  const body = JSON.stringify({ eventId: `e-${ids.orderId}`, ...ids, type: 'paid', amountCents: PRICE_CENTS })
  const at = Math.floor(Date.now() / 1_000)
  const proof = createHmac('sha256', PAYMENT_SECRET).update(`${at}.${body}`).digest('hex')
  const headers = { 'content-type': 'application/json', 'x-payment-signature': `t=${at},v1=${proof}` }
  const answer = await fetch(`${origin}/v1/payments/callback`, { method: 'POST', headers, body })
  if (!answer.ok) throw new Error(`the callback was answered ${answer.status}`)
}

async function post(url: string, session: string, body: unknown): Promise<Record<string, unknown>> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${session}` },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${url} was answered ${answer.status}`)
  return (await answer.json()) as Record<string, unknown>
}

async function ask(url: string, session: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${session}` } })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? 0
}
