/** The platform of `npm start` as a bench uses it: real processes, an operator who defines sales, buyers over HTTP. */

import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { AdminClient } from '@bigtap/local/admin'
import { parseArgs } from '@bigtap/local/args'
import { type Platform, startPlatform } from '@bigtap/local/platform'

/** A sale that is defined: one activity with several products. */
export interface BenchSale {
  readonly activityId: number
  readonly skuIds: readonly number[]
}

/** An answer of the buyer API. */
export interface BenchAnswer {
  readonly status: number
  readonly body: Record<string, unknown>
}

const PORT_BASE = 18_000
const OPENS_IN_MS = 4_000
const WAIT_MS_MAX = 15_000
const LOOK_EVERY_MS = 4
const PAYMENT_SECRET = 'payment-secret-of-the-bench'
const PRICE_CENTS = 100

/** Starts the platform with so many routers, works with it, and stops it. */
export async function withShop<T>(routers: number, work: (shop: BenchShop) => Promise<T>): Promise<T> {
  process.env.BIGTAP_PAYMENT_SECRET = PAYMENT_SECRET
  const parsed = parseArgs(['--idle', '--port-base', `${PORT_BASE}`])
  if (!parsed.ok) throw new Error(parsed.errors.join('; '))
  const platform = await startPlatform({ ...parsed.options, routers }, () => undefined)
  try {
    const admin = new AdminClient(platform.ports.masters.map((port) => `http://127.0.0.1:${port}`))
    await admin.login('operator', platform.secrets.operatorPassword)
    return await work(new BenchShop(platform, admin))
  } finally {
    await platform.stop()
  }
}

/** The running platform. */
export class BenchShop {
  readonly platform: Platform
  readonly admin: AdminClient
  readonly #origin: string

  constructor(platform: Platform, admin: AdminClient) {
    this.platform = platform
    this.admin = admin
    this.#origin = `http://127.0.0.1:${platform.ports.origin}`
  }

  /** Defines a sale of so many products of `stock` units each, and waits until every limiter sells. */
  async openSale(products: number, stock: number): Promise<BenchSale> {
    const opensAt = Date.now() + OPENS_IN_MS
    const times = { opensAt, closesAt: opensAt + 3_600_000 }
    const terms = { title: 'bench', rule: 'once-per-product', ...times }
    const { id: activityId } = await this.admin.call<{ id: number }>('POST', 'activities', terms)
    const skuIds: number[] = []
    for (let index = 0; index < products; index++) {
      const sku = { title: `${index}`, priceCents: PRICE_CENTS, currency: 'CNY', stock, limitPerBuyer: 1 }
      skuIds.push((await this.admin.call<{ id: number }>('POST', `activities/${activityId}/skus`, sku)).id)
    }
    await this.admin.call('POST', `activities/${activityId}/actions/schedule`)
    const sale = { activityId, skuIds }
    await this.untilAll(pathOf(sale, skuIds[0] ?? 0), await this.signIn(1), 200)
    return sale
  }

  async signIn(uid: number): Promise<string> {
    return String((await this.post('/v1/session', '', { uid })).session)
  }

  /** Path, buy, cart: the order's id. */
  async order(sale: BenchSale, skuId: number, session: string): Promise<string> {
    const deadline = performance.now() + WAIT_MS_MAX
    const { path } = (await ask(`${this.#origin}${pathOf(sale, skuId)}`, session)).body
    for (;;) {
      const { status, body } = await ask(`${this.#origin}${path}`, session)
      if (status === 200) return String((await this.post('/v1/cart', session, { token: body.token })).orderId)
      if (performance.now() > deadline) throw new Error(`no grant, the last answer is ${status}`)
      await sleep(50)
    }
  }

  /** Asks for a payment; the answer's provider then says that it was paid. */
  async pay(orderId: string, session: string): Promise<void> {
    const { paymentId } = await this.post(`/v1/orders/${orderId}/payment`, session, { method: 'sandbox' })
    const event = { eventId: `e-${orderId}`, paymentId, orderId, type: 'paid', amountCents: PRICE_CENTS }
    const body = JSON.stringify(event)
    const at = Math.floor(Date.now() / 1_000)
    const proof = createHmac('sha256', PAYMENT_SECRET).update(`${at}.${body}`).digest('hex')
    const headers = { 'content-type': 'application/json', 'x-payment-signature': `t=${at},v1=${proof}` }
    const answer = await fetch(`${this.#origin}/v1/payments/callback`, { method: 'POST', headers, body })
    if (!answer.ok) throw new Error(`the callback was answered ${answer.status}`)
  }

  /** Waits until every limiter answers a path with the status. */
  async untilAll(path: string, session: string, status: number): Promise<void> {
    await Promise.all(
      this.platform.ports.limiters.map(async (port) => {
        const deadline = performance.now() + WAIT_MS_MAX
        while ((await ask(`http://127.0.0.1:${port}${path}`, session)).status !== status) {
          if (performance.now() > deadline) throw new Error(`limiter ${port} did not answer ${status}`)
          await sleep(LOOK_EVERY_MS)
        }
      }),
    )
  }

  async post(path: string, session: string, body: unknown): Promise<Record<string, unknown>> {
    const answer = await fetch(`${this.#origin}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${session}` },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`${path} was answered ${answer.status}`)
    return (await answer.json()) as Record<string, unknown>
  }
}

/** The call that gives the hidden path. */
export function pathOf({ activityId }: BenchSale, skuId: number): string {
  return `/v1/activities/${activityId}/skus/${skuId}/path`
}

async function ask(url: string, session: string): Promise<BenchAnswer> {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${session}` } })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}
