/** The promises of the platform, each over real HTTP against all of its processes; named by what must not go wrong. */

import { waitFor } from '@bigtap/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { newUid, openShop, type Sale, type Shop, sleep } from './shop.ts'

let shop: Shop

beforeAll(async () => {
  shop = await openShop(0)
})

afterAll(async () => {
  await shop?.close()
})

afterEach(async () => {
  expect((await shop.invariants()).skus.flatMap(({ violations }) => violations)).toEqual([])
})

const sessions = (count: number) => Promise.all(Array.from({ length: count }, () => shop.signIn()))
const stored = (sale: Sale, orders: number) =>
  waitFor(`${orders} orders to be stored`, async () => (await shop.figures(sale)).orders === orders, 20_000)

describe('stock', () => {
  test('the last unit is sold once', async () => {
    const sale = await shop.sell({ stock: 1 })
    const answers = await Promise.all((await sessions(50)).map((session) => shop.buy(sale, session, 1_000)))

    const winners = answers.filter(({ status }) => status === 200)
    expect(winners).toHaveLength(1)
    expect(await shop.figures(sale)).toMatchObject({ stock: 1, outstanding: 1 })
  })

  test('50 parallel carts take exactly what there is', async () => {
    const sale = await shop.sell({ stock: 25, policy: { overbook: 2 } })
    const buyers = await sessions(50)
    const grants = await Promise.all(buyers.map((session) => shop.buy(sale, session)))
    expect(grants.map(({ status }) => status)).toEqual(Array(50).fill(200))

    const orders = await Promise.all(grants.map(({ body }, index) => shop.cart(buyers[index] ?? '', body.token)))

    expect(orders.filter(({ status }) => status === 201)).toHaveLength(25)
    expect(orders.filter(({ status, body }) => status === 410 && body.code === 'sold_out')).toHaveLength(25)
    expect(await shop.figures(sale)).toMatchObject({ free: 0, held: 25 })
    await stored(sale, 25)
  })

  test('repeated clicks of one buyer use up one unit', async () => {
    const sale = await shop.sell({ stock: 10 })
    const session = await shop.signIn()
    const { path } = (await shop.path(sale, session)).body

    await Promise.all(Array.from({ length: 30 }, () => shop.call('GET', path, { session })))
    const granted = await shop.buy(sale, session)

    expect(granted.status).toBe(200)
    await waitFor('unused places to settle', async () => (await shop.figures(sale)).outstanding === 1)
  })

  test('one failed order does not mark the product sold out', async () => {
    const sale = await shop.sell({ stock: 2 })
    const [first = '', second = ''] = await sessions(2)
    const granted = await shop.buy(sale, first)
    const bad = await shop.call('POST', '/v1/cart', {
      session: first,
      body: { token: `${granted.body.token.slice(0, -4)}AAAA` },
    })

    expect(bad).toMatchObject({ status: 422, body: { code: 'bad_token' } })
    expect((await shop.order(sale, second)).status).toBe(201)
    expect((await shop.cart(first, granted.body.token)).status).toBe(201)
  })

  test('buys before the opening leave the stock untouched', async () => {
    const sale = await shop.sell({ stock: 5, opensInMs: 8_000 })
    await sleep(1_000)
    const session = await shop.signIn()

    expect(await shop.path(sale, session)).toMatchObject({ status: 425, body: { code: 'not_started' } })
    const forged = await shop.call('GET', `/v1/buy/${sale.activityId}.${sale.skuId}.${'A'.repeat(80)}`, { session })
    expect([400, 425]).toContain(forged.status)
    await waitFor('the ledger', async () => (await shop.invariants()).skus.some(({ skuId }) => skuId === sale.skuId))
    expect(await shop.figures(sale)).toMatchObject({ free: 5, held: 0, outstanding: 0 })
  })
})

describe('tokens and orders', () => {
  test('a token counts once: the repeat gets the same answer with 200', async () => {
    const sale = await shop.sell({ stock: 3 })
    const session = await shop.signIn()
    const { token } = (await shop.buy(sale, session)).body

    const answers = await Promise.all(Array.from({ length: 10 }, () => shop.cart(session, token)))

    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(9)
    expect(new Set(answers.map(({ body }) => body.orderId)).size).toBe(1)
    expect(await shop.figures(sale)).toMatchObject({ held: 1, reservedTotal: 1 })
  })

  test('a buyer who has bought is told so, and may buy again after giving back', async () => {
    const sale = await shop.sell({ stock: 3 })
    const session = await shop.signIn()
    const order = await shop.order(sale, session)
    await waitFor('the purchase to be known', async () => (await shop.buy(sale, session, 0)).status === 409)

    const cancelled = await shop.call('POST', `/v1/orders/${order.body.orderId}/cancel`, { session })

    expect(cancelled.status).toBe(200)
    await waitFor('a second purchase', async () => (await shop.order(sale, session)).status === 201)
  })

  test('an order belongs to its buyer', async () => {
    const sale = await shop.sell({ stock: 2 })
    const [owner = '', other = ''] = await sessions(2)
    const { orderId } = (await shop.order(sale, owner)).body

    expect((await shop.orderState(owner, orderId)).status).toBe(200)
    expect((await shop.orderState(other, orderId)).status).toBe(404)
    expect((await shop.call('POST', `/v1/orders/${orderId}/cancel`, { session: other })).status).toBe(404)
  })
})

describe('payments', () => {
  test('the same callback 50 times in parallel counts once and is always answered the same', async () => {
    const sale = await shop.sell({ stock: 2 })
    const session = await shop.signIn()
    const { orderId } = (await shop.order(sale, session)).body
    const { payment, callback } = await shop.pay(session, orderId)
    expect(payment.status).toBe(202)

    const answers = await Promise.all(Array.from({ length: 50 }, callback))

    expect(new Set(answers.map(({ status, body }) => `${status} ${JSON.stringify(body)}`)).size).toBe(1)
    expect(answers[0]?.status).toBe(200)
    await waitFor('the payment', async () => (await shop.orderState(session, orderId)).body.state === 'paid')
    expect(await shop.figures(sale)).toMatchObject({ held: 0, sold: 1, free: 1 })
  })

  test('a callback with a wrong or an old signature changes nothing', async () => {
    const sale = await shop.sell({ stock: 1 })
    const session = await shop.signIn()
    const { orderId } = (await shop.order(sale, session)).body
    const { payment } = await shop.pay(session, orderId)
    const body = JSON.stringify({
      eventId: 'x',
      paymentId: payment.body.paymentId,
      orderId,
      type: 'paid',
      amountCents: 100,
    })

    expect((await shop.sendCallback(body, 'another-secret-altogether')).status).toBe(401)
    expect((await shop.sendCallback(body, undefined, 1_000_000)).status).toBe(401)
    expect(await shop.figures(sale)).toMatchObject({ held: 1, sold: 0 })
  })

  test('a payment after the hold has run out is paid back, and the unit goes to somebody else', async () => {
    const sale = await shop.sell({ stock: 1, policy: { holdSeconds: 2 } })
    const [late = '', next = ''] = await sessions(2)
    const { orderId } = (await shop.order(sale, late)).body
    const { callback } = await shop.pay(late, orderId)
    await waitFor('the hold to run out', async () => (await shop.figures(sale)).held === 0)

    expect((await shop.order(sale, next)).status).toBe(201)
    expect((await callback()).status).toBe(200)

    const state = async () => (await shop.orderState(late, orderId)).body.state
    await waitFor('the refund', async () => ['refund_pending', 'refunded'].includes(await state()))
    expect((await shop.figures(sale)).sold).toBe(0)
  })

  test('abandoned holds return and are sold again', async () => {
    const sale = await shop.sell({ stock: 2, policy: { holdSeconds: 2 } })
    const buyers = await sessions(2)
    expect((await Promise.all(buyers.map((session) => shop.order(sale, session)))).map(({ status }) => status)).toEqual(
      [201, 201],
    )

    const again = await Promise.all((await sessions(2)).map((session) => shop.order(sale, session)))

    expect(again.map(({ status }) => status)).toEqual([201, 201])
    expect(await shop.figures(sale)).toMatchObject({ reservedTotal: 4 })
  })
})

describe('loss', () => {
  test('a crash between grant and answer gives nothing twice: the buyer gets the same token', async () => {
    const sale = await shop.sell({ stock: 5 })
    const buyers = await sessions(4)
    const before = await Promise.all(buyers.map((session) => shop.buy(sale, session)))
    expect(before.map(({ status }) => status)).toEqual([200, 200, 200, 200])

    for (const pid of [...shop.platform.pids()].filter(([name]) => name.startsWith('middle')).map(([, id]) => id))
      process.kill(pid, 'SIGKILL')
    const after = await Promise.all(buyers.map((session) => shop.buy(sale, session)))

    expect(after.map(({ body }) => body.token)).toEqual(before.map(({ body }) => body.token))
    expect(await shop.figures(sale)).toMatchObject({ outstanding: 4 })
  })

  test('order consumers that stand still for 100 orders lose none', async () => {
    const sale = await shop.sell({ stock: 100 })
    const buyers = await sessions(100)
    const order = shop.platform.pids().get('order') ?? 0
    process.kill(order, 'SIGSTOP')
    const answers = await Promise.all(buyers.map((session) => shop.order(sale, session)))
    process.kill(order, 'SIGCONT')

    expect(answers.filter(({ status }) => status === 201)).toHaveLength(100)
    await stored(sale, 100)
  })

  test('redis killed and restarted in the middle of a sale: nothing is lost', async () => {
    const sale = await shop.sell({ stock: 40 })
    const first = await Promise.all((await sessions(20)).map((session) => shop.order(sale, session)))
    const buyers = await sessions(30)
    const second = Promise.all(buyers.map((session) => shop.order(sale, session)))
    await shop.platform.kill('redis')
    await second
    const rest = await Promise.all(buyers.map((session) => shop.order(sale, session)))

    expect(first.filter(({ status }) => status === 201)).toHaveLength(20)
    expect(rest.some(({ status }) => status === 0)).toBe(false)
    await waitFor('all units to be held', async () => (await shop.figures(sale)).held === 40, 20_000)
    await stored(sale, 40)
  })

  test('redis emptied in the middle of a sale: closed, rebuilt, never oversold, and what is lost is counted', async () => {
    const sale = await shop.sell({ stock: 30 })
    const first = await Promise.all((await sessions(10)).map((session) => shop.order(sale, session)))
    await stored(sale, 10)

    await shop.emptyRedis()
    const buyers = await sessions(30)
    await waitFor('the sale to go on', async () => (await shop.order(sale, buyers[0] ?? '')).status === 201, 30_000)
    const rest = await Promise.all(buyers.map((session) => shop.order(sale, session)))

    expect(first.every(({ status }) => status === 201)).toBe(true)
    expect(rest.some(({ status }) => status === 0)).toBe(false)
    const figures = await shop.figures(sale)
    expect(figures.held).toBeLessThanOrEqual(30)
    expect(figures.held).toBeGreaterThanOrEqual(11)
    await stored(sale, figures.held)
    const rebuilds = await fetch(`http://127.0.0.1:${shop.platform.ports.counter + 1000}/debug/rebuilds`)
    expect(await rebuilds.json()).toEqual(
      expect.arrayContaining([expect.objectContaining({ activityId: sale.activityId, lost: 0 })]),
    )
  }, 120_000)
})

describe('bad input', () => {
  test.each([
    ['POST', '/v1/session', '{"uid":', 400],
    ['POST', '/v1/session', '{"uid":9007199254740993}', 400],
    ['POST', '/v1/session', '{"uid":-1}', 400],
    ['POST', '/v1/session', '{"uid":"x"}', 400],
    ['POST', '/v1/session', '[]', 400],
    ['POST', '/v1/cart', '{"token":5}', 401],
    ['GET', '/v1/activities/0', undefined, 404],
    ['GET', '/v1/activities/99999999', undefined, 404],
    ['GET', '/v1/activities/9999999999999999999999', undefined, 404],
    ['GET', '/v1/buy/%00%ff', undefined, 400],
    ['GET', `/v1/buy/${'x'.repeat(4_000)}`, undefined, 400],
    ['GET', '/v1/nothing', undefined, 404],
    ['DELETE', '/v1/time', undefined, 405],
  ])('%s %s %s', async (method, path, body, status) => {
    const answer = await shop.call(method, path, body === undefined ? {} : { body })
    expect([status, 401]).toContain(answer.status)
    expect(answer.body.code).toMatch(/^[a-z_]+$/)
  })

  test('a bad token, a missing one and an oversized body are refused by name', async () => {
    const session = await shop.signIn(newUid())
    const post = (body: unknown) => shop.call('POST', '/v1/cart', { session, body })
    expect(await post({ token: 'nonsense' })).toMatchObject({ status: 422, body: { code: 'bad_token' } })
    expect([400, 422]).toContain((await post({})).status)
    expect((await post({ token: 'x'.repeat(100_000) })).status).toBe(413)
    expect((await shop.call('GET', '/v1/orders', { session: `${session}x` })).status).toBe(401)
    expect((await shop.orderState(session, 'o'.padEnd(33, '0'))).status).toBe(404)
  })
})
