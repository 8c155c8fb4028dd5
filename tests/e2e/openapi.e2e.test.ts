/** The buyer API against docs/openapi.yaml: every operation through the front of a whole platform, every answer checked. */

import { waitFor } from '@bigtap/testkit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ApiDocument } from '../openapi.ts'
import { newUid, openShop, type Shop } from './shop.ts'
import { solve } from './solver.ts'

const api = new ApiDocument()
const isBuyers = ({ path }: { path: string }) => !path.startsWith('/admin/v1/')
const faults: string[] = []
let shop: Shop

beforeAll(async () => {
  api.compileAll()
  shop = await openShop(3)
  const call = shop.call.bind(shop)
  shop.call = async (method, path, options) => {
    const answer = await call(method, path, options)
    const { status, headers, body } = answer
    const contentType = headers.get('content-type') ?? ''
    if (status !== 0) faults.push(...api.check(method, path, { status, contentType, body }))
    return answer
  }
})

afterAll(async () => {
  await shop?.close()
})

test('a buyer signs in, reserves, buys, pays and cancels, and is answered as it is described', async () => {
  const sale = await shop.sell({ stock: 3, rule: 'unlimited', limitPerBuyer: 3 })
  const session = await shop.signIn()
  for (const path of ['/v1/time', '/v1/activities', `/v1/activities/${sale.activityId}`]) {
    const { status, headers } = await shop.call('GET', path)
    expect([path, status]).toEqual([path, 200])
    const tag = headers.get('etag')
    if (tag !== null) await shop.call('GET', path, { headers: { 'if-none-match': tag } })
  }
  await shop.call('POST', `/v1/activities/${sale.activityId}/reservation`, { session })
  const ordered = await shop.order(sale, session)
  expect(ordered.status).toBe(201)
  const { orderId } = ordered.body
  await waitFor(
    'the order is stored',
    async () => (await shop.orderState(session, orderId)).body.state === 'held',
    20_000,
  )
  const { payment, callback } = await shop.pay(session, orderId)
  expect(payment.status).toBe(202)
  expect((await callback()).status).toBe(200)
  await waitFor('it is paid', async () => (await shop.orderState(session, orderId)).body.state === 'paid', 20_000)
  await shop.call('POST', `/v1/orders/${orderId}/payment`, { session, body: { method: 'sandbox' } })
  await shop.call('POST', `/v1/orders/${orderId}/cancel`, { session })

  const { path } = (await shop.path(sale, session)).body
  const granted = await waitFor('another grant', async () => {
    const tried = await shop.call('POST', path, { session })
    return tried.status === 200 && tried
  })
  const second = await shop.cart(session, granted.body.token)
  expect((await shop.cart(session, granted.body.token)).status).toBe(200)
  expect((await shop.call('POST', `/v1/orders/${second.body.orderId}/cancel`, { session })).status).toBe(200)
  expect((await shop.call('GET', '/v1/orders', { session })).status).toBe(200)
  expect(faults).toEqual([])
})

test('challenges are asked, waited for and solved as it is described', async () => {
  const terms = { mode: 'all', tries: 100 }
  const sale = await shop.sell({ stock: 3, opensInMs: 60_000, activity: { challenge: terms } })
  const session = await shop.signIn()
  const path = `/v1/activities/${sale.activityId}/skus/${sale.skuId}/path`
  const answer = (header: string) => shop.call('GET', path, { session, headers: { 'x-challenge': header } })
  const asked = await waitFor('the challenge', async () => {
    const tried = await shop.path(sale, session)
    return tried.status === 428 && tried
  })
  const { voucher } = (await answer('wait')).body
  expect((await answer(voucher)).status).toBe(428)
  const solved = await answer(solve(asked.body.challenge))

  expect(solved.status).toBe(425)
  expect(solved.body.pass).toBeDefined()
  expect(faults).toEqual([])
})

test('strangers and rubbish are answered as it is described', async () => {
  const session = await shop.signIn(newUid())
  for (const { method, path } of api.operations.filter(isBuyers)) {
    const url = path.replace('{id}', `o${'0'.repeat(32)}`).replace(/\{\w+\}/g, '99999')
    const body = method === 'POST' ? { body: '{"token":7' } : {}
    await shop.call(method, url, body)
    await shop.call(method, url, { session, ...body })
    if (method === 'POST') await shop.call(method, url, { session, body: {} })
  }
  expect(faults).toEqual([])
  expect(api.unseen(isBuyers)).toEqual([])
})
