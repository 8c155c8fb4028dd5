/** A running platform as a test sees it: an operator who defines sales, and buyers over real HTTP. */

import { createHmac } from 'node:crypto'
import { connect } from 'node:net'
import { waitFor } from '@bigtap/testkit'
import { AdminClient, type Invariants, type SkuInvariants } from '../../deploy/local/src/admin.ts'
import { parseArgs } from '../../deploy/local/src/args.ts'
import { type Platform, startPlatform } from '../../deploy/local/src/platform.ts'

/** An answer of the buyer API. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into answers whose shape it is about to check
  readonly body: any
}

/** One product on sale. */
export interface SaleTerms {
  readonly stock: number
  readonly opensInMs?: number
  readonly closesInMs?: number
  readonly rule?: string
  readonly limitPerBuyer?: number
  readonly policy?: Record<string, unknown>
  /** Other terms of the activity. */
  readonly activity?: Record<string, unknown>
}

/** A sale that is defined. */
export interface Sale {
  readonly activityId: number
  readonly skuId: number
}

const OPENS_IN_MS = 2_500
const PORT_BASE_FIRST = 20_000
const PORT_SPAN = 1_500
let uid = 100_000

/** A buyer who has not been seen before. */
export const newUid = () => ++uid

/** Starts a platform with no sale on ports of its own. */
export async function openShop(index: number): Promise<Shop> {
  const parsed = parseArgs(['--idle', '--port-base', `${PORT_BASE_FIRST + index * PORT_SPAN}`])
  if (!parsed.ok) throw new Error(parsed.errors.join('; '))
  process.env.BIGTAP_PAYMENT_SECRET = 'payment-secret-of-the-tests'
  const platform = await startPlatform(parsed.options, () => undefined)
  const admin = new AdminClient(platform.ports.masters.map((port) => `http://127.0.0.1:${port}`))
  await admin.login('operator', platform.secrets.operatorPassword)
  return new Shop(platform, admin)
}

/** The platform, its operator and its buyers. */
export class Shop {
  readonly platform: Platform
  readonly admin: AdminClient
  readonly origin: string

  constructor(platform: Platform, admin: AdminClient) {
    this.platform = platform
    this.admin = admin
    this.origin = `http://127.0.0.1:${platform.ports.origin}`
  }

  /** One call of the buyer API; a lost connection is status 0. */
  async call(
    method: string,
    path: string,
    options: { session?: string; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const { session, body, headers = {} } = options
    try {
      const answer = await fetch(`${this.origin}${path}`, {
        method,
        headers: {
          ...(session === undefined ? {} : { authorization: `Bearer ${session}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        signal: AbortSignal.timeout(10_000),
      })
      const text = await answer.text()
      return { status: answer.status, headers: answer.headers, body: text.startsWith('{') ? JSON.parse(text) : text }
    } catch {
      return { status: 0, headers: new Headers(), body: {} }
    }
  }

  async signIn(buyer = newUid()): Promise<string> {
    const answer = await waitFor('the sign-in', async () => {
      const tried = await this.call('POST', '/v1/session', { body: { uid: buyer } })
      return tried.status === 200 && tried
    })
    return answer.body.session
  }

  /** Defines a sale of one product and schedules it; resolves when it is open unless it opens later. */
  async sell({
    stock,
    opensInMs = OPENS_IN_MS,
    closesInMs = 3_600_000,
    rule = 'once-per-product',
    limitPerBuyer = 1,
    policy = {},
    activity = {},
  }: SaleTerms): Promise<Sale> {
    const opensAt = Date.now() + opensInMs
    const { id: activityId } = await this.admin.call<{ id: number }>('POST', 'activities', {
      title: 'test sale',
      opensAt,
      closesAt: opensAt - opensInMs + closesInMs,
      rule,
      ...activity,
    })
    const { id: skuId } = await this.admin.call<{ id: number }>('POST', `activities/${activityId}/skus`, {
      title: 'phone',
      priceCents: 100,
      currency: 'CNY',
      stock,
      limitPerBuyer,
      policy: { holdSeconds: 60, tokenSeconds: 20, ...policy },
    })
    await this.admin.call('POST', `activities/${activityId}/actions/schedule`)
    const sale = { activityId, skuId }
    if (opensInMs <= 5_000) await waitFor('the sale to open', () => this.isOpen(sale), 15_000)
    return sale
  }

  async isOpen({ activityId, skuId }: Sale): Promise<boolean> {
    const { status } = await this.path({ activityId, skuId }, await this.signIn())
    return status === 200
  }

  path({ activityId, skuId }: Sale, session: string): Promise<Answer> {
    return this.call('GET', `/v1/activities/${activityId}/skus/${skuId}/path`, { session })
  }

  /** Path and buy, following 202, 429 and 503 as told; the last answer. */
  async buy(sale: Sale, session: string, msMax = 15_000): Promise<Answer> {
    const deadline = Date.now() + msMax
    let answer = await this.path(sale, session)
    while ([0, 429, 503].includes(answer.status) && Date.now() < deadline) {
      await sleep(200)
      answer = await this.path(sale, session)
    }
    if (answer.status !== 200) return answer
    const { path } = answer.body
    do {
      answer = await this.call('GET', path, { session })
      if (![0, 202, 429, 503].includes(answer.status)) return answer
      await sleep(Math.min(answer.body.retryAfterMs ?? 200, 1_000))
    } while (Date.now() < deadline)
    return answer
  }

  /** Buys and puts it into the cart; repeats the cart call as long as it is unknown what became of it. */
  async order(sale: Sale, session: string): Promise<Answer> {
    const granted = await this.buy(sale, session)
    return granted.status === 200 ? this.cart(session, granted.body.token) : granted
  }

  async cart(session: string, token: string, msMax = 15_000): Promise<Answer> {
    const deadline = Date.now() + msMax
    for (;;) {
      const answer = await this.call('POST', '/v1/cart', { session, body: { token } })
      if ((answer.status !== 0 && answer.status !== 503) || Date.now() > deadline) return answer
      await sleep(150)
    }
  }

  /** Asks for a payment, and makes the provider's signed callback body for it. */
  async pay(
    session: string,
    orderId: string,
    amountCents = 100,
  ): Promise<{ payment: Answer; callback: () => Promise<Answer> }> {
    const payment = await this.call('POST', `/v1/orders/${orderId}/payment`, { session, body: { method: 'sandbox' } })
    const body = JSON.stringify({
      eventId: `e-${orderId}`,
      paymentId: payment.body.paymentId,
      orderId,
      type: 'paid',
      amountCents,
    })
    return { payment, callback: () => this.sendCallback(body) }
  }

  sendCallback(
    body: string,
    secret = 'payment-secret-of-the-tests',
    at = Math.floor(Date.now() / 1000),
  ): Promise<Answer> {
    const signature = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')
    return this.call('POST', '/v1/payments/callback', {
      body,
      headers: { 'x-payment-signature': `t=${at},v1=${signature}` },
    })
  }

  async figures({ activityId, skuId }: Sale): Promise<SkuInvariants> {
    const { skus } = await this.invariants()
    const found = skus.find((sku) => sku.activityId === activityId && sku.skuId === skuId)
    if (!found) throw new Error(`no figures of sku ${skuId}`)
    return found
  }

  invariants(): Promise<Invariants> {
    return this.admin.call<Invariants>('GET', 'invariants')
  }

  /** An activity as operators see it. */
  activity({ activityId }: Sale): Promise<{ state: string }> {
    return this.admin.call<{ state: string }>('GET', `activities/${activityId}`)
  }

  /** The id of the master that leads. */
  async leader(): Promise<string | undefined> {
    const { nodes } = await this.admin.call<{ nodes: { id: string; isLeader: boolean }[] }>('GET', 'nodes')
    return nodes.find(({ isLeader }) => isLeader)?.id
  }

  async alerts(): Promise<{ key: string; message: string }[]> {
    return (await this.admin.call<{ alerts: { key: string; message: string }[] }>('GET', 'alerts')).alerts
  }

  orderState(session: string, orderId: string): Promise<Answer> {
    return this.call('GET', `/v1/orders/${orderId}`, { session })
  }

  /** FLUSHALL, as an operator's mistake would do it. */
  emptyRedis(): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.platform.ports.redis, '127.0.0.1', () => socket.write('FLUSHALL\r\n'))
      socket.once('data', () => {
        socket.destroy()
        resolve()
      })
      socket.once('error', reject)
    })
  }

  close(): Promise<void> {
    return this.platform.stop()
  }
}

/** Waits. */
export const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
