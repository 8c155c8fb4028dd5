import { createHmac, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Mirror } from '@bigtap/catalog'
import { createDb, type Db, migrate } from '@bigtap/db'
import { activityKey, DEFAULT_POLICY, skuKey } from '@bigtap/domain'
import { createMemoryLog } from '@bigtap/eventlog'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import { encodeOrderEvent, type LedgerReply as WireReply } from '@bigtap/protocol'
import { CatalogStore, connectStore, Ledger, type LedgerReply, type Store } from '@bigtap/store'
import { type Engine, SeededRandom, startPostgres, startRedis, waitFor } from '@bigtap/testkit'
import { createKeyRing, issueSession } from '@bigtap/token'
import { LedgerFault } from '@bigtap/transport'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { signatureOf } from './core/signature.ts'
import { declareMetrics } from './metrics.ts'
import { createIntake } from './order-intake.ts'
import { createOrderService } from './order-service.ts'
import { refundRound } from './refunder.ts'

/** The service over a real Redis and a real PostgreSQL; the counter is the ledger itself, called without a link. */
const ACTIVITY = 1
const SKU = 2
const PRICE = 4_900
const settings = {
  tokenSecret: 'a secret of the tests',
  tokenSecretPrevious: undefined,
  publicOrigin: 'http://127.0.0.1:0',
  connectionsMax: 1_024,
}
const ring = createKeyRing({ current: settings.tokenSecret })
const clock = { now: () => Date.now(), monotonic: () => performance.now() }
const sign = (text: string) => createHmac('sha256', 'payment secret').update(text).digest('hex')
const log = createMemoryLog()
const alerts: string[] = []
const dir = mkdtempSync(join(tmpdir(), 'bigtap-order-'))
let redis: Engine
let postgres: Engine
let db: Db
let store: Store
let ledger: Ledger
let mirror: Mirror
let service: ReturnType<typeof createOrderService>
let origin: string
let isCounterAway = false
let stored = 0
let deadLetters = 0

beforeAll(async () => {
  ;[redis, postgres] = await Promise.all([startRedis(), startPostgres({ dir })])
  await migrate(postgres.url)
  db = createDb({ url: postgres.url })
  store = connectStore({ url: redis.url, commandMsMax: 1_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
  ledger = new Ledger(store)
  await openSale()
  const counts = declareMetrics(nullMetrics, { last: () => service.reconciler.last, lag: () => 0 })
  const onAlert = (alert: string) => void alerts.push(alert)
  service = createOrderService(settings, {
    ...{ db, store, mirror, ledger, sign, clock, logger: nullLogger, random: new SeededRandom(5) },
    counts: { ...counts, onAlert: (alert) => onAlert(alert) },
    counter: { confirm: viaLedger('confirm'), cancel: viaLedger('cancel') },
  })
  origin = await service.app.listen({ host: '127.0.0.1', port: 0 })
  const onDeadLetter = () => {
    deadLetters++
  }
  const onStored = (count: number) => {
    stored += count
  }
  await log
    .consumer({ topic: 'orders', group: 'order' })
    .run(createIntake({ db, logger: nullLogger, onStored, onDeadLetter }))
})
beforeEach(() => {
  isCounterAway = false
  alerts.length = 0
})
afterAll(async () => {
  service?.sandbox.stop()
  await service?.app.close()
  await log.close()
  await db?.close()
  await store?.close()
  await Promise.all([redis?.stop(), postgres?.stop()])
  rmSync(dir, { recursive: true, force: true })
})

async function openSale() {
  const catalog = new CatalogStore(store)
  const sku = { id: SKU, activityId: ACTIVITY, title: 'Phone', priceCents: PRICE, currency: 'EUR', imageUrl: '' }
  const times = { opensAt: Date.now() - 1_000, closesAt: Date.now() + 3_600_000 }
  await catalog.publish([
    {
      key: activityKey(ACTIVITY),
      body: { id: ACTIVITY, title: 'Sale', state: 'open', ...times, rule: 'unlimited', skuIds: [SKU] },
    },
    { key: skuKey(ACTIVITY, SKU), body: { ...sku, stock: 100, limitPerBuyer: 5, policy: DEFAULT_POLICY } },
  ])
  mirror = new Mirror({ service: 'order', pollMs: 200 }, { catalog, logger: nullLogger, metrics: nullMetrics, clock })
  await mirror.pull()
  await openLedger(900)
}

function openLedger(holdSeconds: number) {
  const sku = { skuId: SKU, stock: 100, overbook: 1, limitPerBuyer: 5, priceCents: PRICE, holdSeconds }
  return ledger.open(ACTIVITY, 'unlimited', [sku])
}

function viaLedger(verb: 'confirm' | 'cancel') {
  return async (activityId: number, orderId: string): Promise<WireReply> => {
    if (isCounterAway) throw new LedgerFault('TIMEOUT')
    const [reply] = await ledger[verb](activityId, [orderId])
    return wireOf(reply)
  }
}

function wireOf(reply: LedgerReply | undefined): WireReply {
  if (!reply) throw new Error('no reply')
  const order = reply.order ?? { orderId: '', priceCents: 0, payBy: 0, state: '', quantity: 0, skuId: 0, uid: 0 }
  return { ...order, callId: 1, activityId: ACTIVITY, outcome: reply.outcome }
}

/** A held order of the ledger, not stored yet. */
async function hold(uid: number): Promise<string> {
  const tokenId = randomBytes(16).toString('hex')
  const expiresAt = Date.now() + 60_000
  await ledger.reserve(ACTIVITY, [{ tokenId, uid, skuId: SKU, quantity: 1, expiresAt }])
  return `o${tokenId}`
}

/** What the counter's relay does: carries the outbox to the log. */
async function relay(): Promise<number> {
  const after = await ledger.outboxCursor(ACTIVITY)
  const entries = await ledger.readOutbox(ACTIVITY, after, 1_000)
  const orders = entries.flatMap((entry) => entry.orders)
  const events = orders.map((order) => ({
    ...{ orderId: order.orderId, tokenId: order.orderId.slice(1), activityId: ACTIVITY, currency: 'EUR' },
    ...{ skuId: order.skuId, uid: order.uid, quantity: order.quantity, priceCents: order.priceCents },
    ...{ type: order.state, version: order.version, seq: order.seq, at: order.updatedAt, payBy: order.payBy },
  }))
  const records = events.map((event) => ({ key: event.orderId, value: encodeOrderEvent(event) }))
  if (records.length > 0) await log.producer().send('orders', records)
  const last = entries.at(-1)
  if (last) await ledger.ackOutbox(ACTIVITY, last.id)
  return orders.length
}

async function call(method: string, path: string, { uid, body }: { uid?: number; body?: unknown } = {}) {
  const session = uid === undefined ? undefined : issueSession(ring, { uid, expiresAt: Date.now() + 60_000 })
  const response = await fetch(`${origin}${path}`, {
    method,
    headers: {
      ...(session === undefined ? {} : { authorization: `Bearer ${session}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  }
}

async function callback(event: Record<string, unknown>, at = Date.now(), secret = sign) {
  const body = JSON.stringify(event)
  const response = await fetch(`${origin}/v1/payments/callback`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-payment-signature': signatureOf(body, at, secret) },
    body,
  })
  return { status: response.status, text: await response.text() }
}

const pay = (orderId: string, uid: number) =>
  call('POST', `/v1/orders/${orderId}/payment`, { uid, body: { method: 'sandbox' } })
const stateOf = async (orderId: string, uid: number) => (await call('GET', `/v1/orders/${orderId}`, { uid })).body.state
async function payable(uid: number) {
  const orderId = await hold(uid)
  const { paymentId } = (await pay(orderId, uid)).body
  return { orderId, event: { eventId: `e-${orderId}`, paymentId, orderId, type: 'paid', amountCents: PRICE } }
}
const figures = async () => {
  const found = (await ledger.figures(ACTIVITY)).get(SKU)
  if (!found) throw new Error('no figures')
  return found
}

describe('an order', () => {
  test('is accepted before it is stored, and held once the log has brought it', async () => {
    const orderId = await hold(11)

    expect(await stateOf(orderId, 11)).toBe('accepted')
    await relay()
    await waitFor('the row', () => db.orders.get(orderId))
    expect(await stateOf(orderId, 11)).toBe('held')
    const list = await call('GET', '/v1/orders', { uid: 11 })
    expect(list.body.orders).toMatchObject([{ orderId, activityId: ACTIVITY, skuId: SKU, priceCents: PRICE }])
  })

  test('is nobody else’s, and an unknown one is 404 too', async () => {
    const orderId = await hold(12)

    for (const path of [`/v1/orders/${orderId}`, `/v1/orders/o${'0'.repeat(32)}`, '/v1/orders/1'])
      expect(await call('GET', path, { uid: 13 })).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect((await call('POST', `/v1/orders/${orderId}/cancel`, { uid: 13 })).status).toBe(404)
    expect((await pay(orderId, 13)).status).toBe(404)
    expect((await call('GET', `/v1/orders/${orderId}`)).status).toBe(401)
  })

  test('is cancelled once, and its unit is on sale again', async () => {
    const before = (await figures()).free
    const orderId = await hold(14)

    const first = await call('POST', `/v1/orders/${orderId}/cancel`, { uid: 14 })
    const again = await call('POST', `/v1/orders/${orderId}/cancel`, { uid: 14, body: {} })

    expect([first.status, first.body.state, again.status, again.body.state]).toEqual([
      200,
      'cancelled',
      200,
      'cancelled',
    ])
    expect((await figures()).free).toBe(before)
    expect(await stateOf(orderId, 14)).toBe('cancelled')
    expect(await pay(orderId, 14)).toMatchObject({ status: 409, body: { code: 'not_payable' } })
  })
})

describe('payments', () => {
  test('asking twice makes one payment', async () => {
    const orderId = await hold(21)

    const [first, again] = [await pay(orderId, 21), await pay(orderId, 21)]

    expect(first.status).toBe(202)
    expect(first.headers.get('retry-after')).toBe('1')
    expect(first.body.redirectUrl).toMatch(new RegExp(`/v1/sandbox/payments/${first.body.paymentId}$`))
    expect(again.body.paymentId).toBe(first.body.paymentId)
    expect(await call('POST', `/v1/orders/${orderId}/payment`, { uid: 21, body: {} })).toMatchObject({ status: 400 })
  })

  test('the same callback 50 times in parallel counts once and is answered the same', async () => {
    const sold = (await figures()).sold
    const { orderId, event } = await payable(22)

    const answers = await Promise.all(Array.from({ length: 50 }, () => callback(event)))
    const later = await callback({ ...event, amountCents: 1 })

    expect(new Set([...answers, later].map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers[0]?.status).toBe(200)
    expect((await figures()).sold).toBe(sold + 1)
    expect((await db.orders.get(orderId))?.state).toBe('paid')
    expect(alerts).toEqual([])
  })

  test('a paid order is in PostgreSQL when the callback is answered, though the log has brought nothing', async () => {
    const { orderId, event } = await payable(23)

    expect((await callback(event)).status).toBe(200)
    expect(await db.orders.get(orderId)).toMatchObject({ state: 'paid', version: 2, uid: 23, currency: 'EUR' })
    await relay()
    await waitFor('the log', async () => (await log.consumer({ topic: 'orders', group: 'order' }).lag()) === 0)
    expect((await db.orders.get(orderId))?.state).toBe('paid')
  })

  test('a forged, an old and a broken callback change nothing', async () => {
    const { orderId, event } = await payable(24)

    expect((await callback(event, Date.now(), () => '0'.repeat(64))).status).toBe(401)
    expect((await callback(event, Date.now() - 310_000)).status).toBe(401)
    expect((await callback({ ...event, amountCents: -1 })).status).toBe(400)
    expect((await callback({ ...event, paymentId: 'another' })).status).toBe(404)
    expect(await stateOf(orderId, 24)).toBe('accepted')
  })

  test('a payment after the hold has gone is paid back, also when the order was never stored', async () => {
    const { orderId, event } = await payable(25)
    await ledger.cancel(ACTIVITY, [orderId])

    expect((await callback(event)).status).toBe(200)
    expect(await stateOf(orderId, 25)).toBe('refund_pending')
    await relay()
    await waitFor('the log', async () => (await log.consumer({ topic: 'orders', group: 'order' }).lag()) === 0)
    expect(await stateOf(orderId, 25)).toBe('refund_pending')

    expect(await refundRound(db, { now: Date.now(), afterMs: 60_000 })).toBe(0)
    expect(await refundRound(db, { now: Date.now(), afterMs: 0 })).toBe(1)
    expect(await stateOf(orderId, 25)).toBe('refunded')
    expect((await db.payments.get(String(event.paymentId)))?.state).toBe('refunded')
  })

  test('a wrong amount is paid back with an alert, and the unit is on sale again', async () => {
    const free = (await figures()).free
    const { orderId, event } = await payable(26)

    expect((await callback({ ...event, amountCents: PRICE - 1 })).status).toBe(200)

    expect(await stateOf(orderId, 26)).toBe('refund_pending')
    expect(alerts).toEqual(['wrong_amount'])
    expect((await figures()).free).toBe(free)
  })

  test('a payment that failed leaves the hold, and may be paid after all', async () => {
    const { orderId, event } = await payable(27)

    expect((await callback({ ...event, eventId: `f-${orderId}`, type: 'failed' })).status).toBe(200)
    expect(await stateOf(orderId, 27)).toBe('accepted')
    expect((await callback(event)).status).toBe(200)
    expect(await stateOf(orderId, 27)).toBe('paid')
  })

  test('while the counter is away the provider is told to come again, and then the event counts', async () => {
    const { orderId, event } = await payable(28)
    isCounterAway = true
    const away = await callback(event)
    const cancel = await call('POST', `/v1/orders/${orderId}/cancel`, { uid: 28 })
    isCounterAway = false

    expect([away.status, cancel.status]).toEqual([503, 503])
    expect(cancel.body).toMatchObject({ code: 'unavailable', retryAfterMs: expect.any(Number) })
    expect((await callback(event)).status).toBe(200)
    expect(await stateOf(orderId, 28)).toBe('paid')
  })

  test('the sandbox shows its page, and takes only what it knows', async () => {
    const { event } = await payable(29)

    const page = await fetch(`${origin}/v1/sandbox/payments/${event.paymentId}`)

    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect((await call('GET', '/v1/sandbox/payments/1')).status).toBe(404)
    const path = `/v1/sandbox/payments/${event.paymentId}`
    expect(await call('POST', path, { body: { outcome: 'maybe' } })).toMatchObject({ status: 400 })
  })
})

describe('the log', () => {
  test('a poison message is set aside and never stops the rest', async () => {
    const before = deadLetters
    const orderId = await hold(31)
    const huge = { orderId: `o${'f'.repeat(32)}`, tokenId: 'f'.repeat(32), activityId: ACTIVITY, skuId: SKU, uid: 31 }
    const event = {
      ...huge,
      quantity: 4_000_000_000,
      priceCents: 1,
      currency: 'EUR',
      type: 'held' as const,
      version: 1,
    }
    await log.producer().send('orders', [
      { key: 'x', value: Uint8Array.from([255, 255, 255]) },
      { key: event.orderId, value: encodeOrderEvent({ ...event, seq: 1, at: 1, payBy: 2 }) },
    ])
    await relay()

    await waitFor('the good one', () => db.orders.get(orderId))
    await waitFor('the dead letters', () => deadLetters === before + 2)
    expect(await db.deadLetters.count()).toBe(before + 2)
  })

  test('events that come twice or late change nothing', async () => {
    const orderId = await hold(32)
    await ledger.confirm(ACTIVITY, [orderId])
    await store.redis.set(`bt:{${ACTIVITY}}:outbox-cursor`, '0-0')
    await relay()
    await waitFor('the row', async () => (await db.orders.get(orderId))?.state === 'paid')
    const before = stored

    await store.redis.set(`bt:{${ACTIVITY}}:outbox-cursor`, '0-0')
    await relay()

    await waitFor('the log', async () => (await log.consumer({ topic: 'orders', group: 'order' }).lag()) === 0)
    expect(stored).toBe(before)
  })
})

describe('loss', () => {
  test('an order that the log has lost is stored by the second reconciliation', async () => {
    const orderId = await hold(41)
    const last = (await ledger.readOutbox(ACTIVITY, '0-0', 10_000)).at(-1)
    await ledger.ackOutbox(ACTIVITY, last?.id ?? '')

    const first = await service.reconciler.round()
    expect(first.differences).toMatchObject([{ activityId: ACTIVITY, skuId: SKU, kind: 'stored-behind' }])
    expect(first.repaired).toBe(0)
    expect(await service.reconciler.round()).toMatchObject({ repaired: expect.any(Number), alerts: 1 })

    expect((await db.orders.get(orderId))?.state).toBe('held')
    expect(await service.reconciler.round()).toMatchObject({ differences: [], alerts: 0 })
  })

  test('without PostgreSQL an order is accepted, a payment waits; then both go on', async () => {
    const { orderId, event } = await payable(42)
    const port = postgres.port
    await postgres.kill()

    expect(await stateOf(orderId, 42)).toBe('accepted')
    expect((await callback(event)).status).toBe(503)
    expect((await call('GET', '/v1/orders', { uid: 42 })).status).toBe(503)
    const letters = deadLetters
    await relay()

    postgres = await startPostgres({ dir, port })
    await waitFor('the row', () => db.orders.get(orderId).catch(() => undefined), 30_000)
    expect(deadLetters).toBe(letters)
    expect((await callback(event)).status).toBe(200)
    expect(await stateOf(orderId, 42)).toBe('paid')
  })

  test('while a ledger is in doubt an unknown order is 503, not 404', async () => {
    await ledger.beginRebuild(ACTIVITY)
    const unknown = `/v1/orders/o${'0'.repeat(32)}`

    expect(await call('GET', unknown, { uid: 43 })).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    expect(await service.reconciler.round()).toMatchObject({ inDoubt: 1, differences: [] })
    await ledger.endRebuild(ACTIVITY, 2)
    expect((await call('GET', unknown, { uid: 43 })).status).toBe(404)
  })
})
