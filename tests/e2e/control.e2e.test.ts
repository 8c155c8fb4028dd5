/** A sale that runs itself, watched from outside; and what controls it may die, hang, or be told nonsense. */

import { waitFor } from '@bigtap/testkit'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { openShop, type Sale, type Shop, sleep } from './shop.ts'

let shop: Shop

beforeAll(async () => {
  shop = await openShop(2)
})

afterAll(async () => {
  await shop?.close()
})

afterEach(async () => {
  expect((await shop.invariants()).skus.flatMap(({ violations }) => violations)).toEqual([])
})

const sessions = (count: number) => Promise.all(Array.from({ length: count }, () => shop.signIn()))

interface StreamEvent {
  readonly activities: readonly { id: number; state: string; skus: readonly { id: number; state: string }[] }[]
}

/** Reads the operator's stream until the signal; every state of an activity that was seen, in order. */
async function watchStates(activityId: number, signal: AbortSignal): Promise<string[]> {
  const states: string[] = []
  const answer = await shop.admin.open('stream', signal)
  let text = ''
  try {
    for await (const chunk of answer.body ?? []) {
      text += Buffer.from(chunk).toString()
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1]
        text = text.slice(end + 2)
        if (data === undefined || !data.startsWith('{')) continue
        const { activities = [] } = JSON.parse(data) as Partial<StreamEvent>
        const state = activities.find(({ id }) => id === activityId)?.state
        if (state !== undefined && states.at(-1) !== state) states.push(state)
      }
    }
  } catch {
    // the test has seen enough
  }
  return states
}

/** Processes of a role, by name. */
const pidsOf = (role: string) => [...shop.platform.pids()].filter(([name]) => name.startsWith(role))

describe('a sale that runs itself', () => {
  test('from schedule to closed nobody calls anything, and the stream shows every step', async () => {
    const abort = new AbortController()
    const sale = await shop.sell({ stock: 3, opensInMs: 6_000, closesInMs: 12_000 })
    const seen = watchStates(sale.activityId, abort.signal)
    const buyers = await sessions(3)
    await sleep(6_000)
    const orders = await Promise.all(buyers.map((session) => shop.order(sale, session)))
    const isClosed = async () => (await shop.activity(sale)).state === 'closed'
    await waitFor('the sale to close by itself', isClosed, 20_000)
    await sleep(2_500)
    abort.abort()

    expect(orders.map(({ status }) => status)).toEqual([201, 201, 201])
    const states = await seen
    const expected = ['scheduled', 'preloading', 'armed', 'open', 'closed']
    // The stream speaks once a second: a short step may fall between two of its events, never out of order.
    expect(states).toEqual(expected.filter((state) => states.includes(state)))
    expect(states).toEqual(expect.arrayContaining(['armed', 'open', 'closed']))
  })

  test('units that arrive in the warehouse after the last was sold are sold, and nobody calls anything', async () => {
    const sale = await shop.sell({ stock: 1 })
    const [first = '', second = ''] = await sessions(2)
    const { orderId } = (await shop.order(sale, first)).body
    await (await shop.pay(first, orderId)).callback()
    await waitFor('sold out', async () => (await shop.path(sale, second)).status === 410)

    const arrivedAt = performance.now()
    await raiseWarehouse(sale, 3)
    await waitFor('the limiter to sell again', async () => (await shop.path(sale, second)).status === 200, 10_000)
    console.log(`sold again ${Math.round(performance.now() - arrivedAt)} ms after the units arrived (goal 1,000)`)

    expect((await shop.order(sale, second)).status).toBe(201)
    expect(await shop.figures(sale)).toMatchObject({ stock: 3, sold: 1, held: 1, free: 1 })
  })
})

/** As the shop's own stock system would do it: in the table, and nowhere else. */
async function raiseWarehouse({ activityId, skuId }: Sale, units: number): Promise<void> {
  const client = new Client(shop.platform.databaseUrl)
  await client.connect()
  const sql = 'UPDATE warehouse_stock SET units = $3 WHERE activity_id = $1 AND sku_id = $2'
  const isThere = async () => (await client.query(sql, [activityId, skuId, units])).rowCount === 1
  await waitFor("the warehouse's row", isThere)
  await client.end()
}

describe('what controls the sale may go', () => {
  test('the leader is killed: a master leads again, and a scheduled sale opens in time', async () => {
    const sale = await shop.sell({ stock: 2, opensInMs: 7_000 })
    const leader = (await shop.leader()) ?? ''
    const killedAt = performance.now()
    process.kill(shop.platform.pids().get(leader) ?? 0, 'SIGKILL')
    // The other one, or the killed one's successor, whoever is first.
    await waitFor('a master to lead', async () => (await shop.leader()) !== undefined)
    console.log(`a master led again ${Math.round(performance.now() - killedAt)} ms after kill -9 (goal 3,000)`)

    await waitFor('the sale to open', () => shop.isOpen(sale), 20_000)
    expect((await shop.order(sale, await shop.signIn())).status).toBe(201)
  })

  test('all masters, routers and dcacenter are killed in the middle of a sale: buyers go on', async () => {
    const sale = await shop.sell({ stock: 20 })
    const buyers = await sessions(20)
    for (const role of ['master', 'router', 'dcacenter'])
      for (const [, pid] of pidsOf(role)) process.kill(pid, 'SIGKILL')

    const orders = await Promise.all(buyers.map((session) => shop.order(sale, session)))

    expect(orders.map(({ status }) => status)).toEqual(Array(20).fill(201))
    await waitFor('the masters', async () => (await shop.figures(sale)).held === 20, 20_000)
  })

  test('a Middle node stands still: its buyers are served by others; when it goes on, nothing is granted twice', async () => {
    const sale = await shop.sell({ stock: 40 })
    const buyers = await sessions(40)
    const first = await Promise.all(buyers.slice(0, 20).map((session) => shop.buy(sale, session)))
    const [, pid = 0] = pidsOf('middle')[0] ?? []
    process.kill(pid, 'SIGSTOP')
    const rest = await Promise.all(buyers.slice(20).map((session) => shop.buy(sale, session)))
    const again = await Promise.all(buyers.slice(0, 20).map((session) => shop.buy(sale, session)))
    process.kill(pid, 'SIGCONT')
    await sleep(2_000)
    const after = await Promise.all(buyers.map((session) => shop.buy(sale, session)))

    expect(rest.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(again.map(({ body }) => body.token)).toEqual(first.map(({ body }) => body.token))
    expect(after.map(({ body }) => body.token)).toEqual([...first, ...rest].map(({ body }) => body.token))
    expect(await shop.figures(sale)).toMatchObject({ outstanding: 40 })
  })

  test('nonsense in the catalog changes nothing but an alarm', async () => {
    const sale = await shop.sell({ stock: 5 })
    const key = `sku:${sale.activityId}:${sale.skuId}`
    const redis = new Redis(shop.platform.ports.redis)
    const bodies = ['null', '{"id":null}', '[]', `{"title":"${'x'.repeat(300_000)}"}`, '{"stock":-1e309}', 'not json']
    for (const body of bodies) {
      const revision = await redis.incr('bt:{catalog}:revision')
      await redis.hset('bt:{catalog}:docs', key, `${revision}|${body}`)
      await redis.zadd('bt:{catalog}:changes', revision, key)
      await sleep(700)
    }
    await redis.quit()

    expect((await shop.order(sale, await shop.signIn())).status).toBe(201)
    await waitFor('an alarm', async () =>
      (await shop.alerts()).some(({ message }) => message.startsWith('documents refused')),
    )
  })
})

describe('dcacenter', () => {
  test('answers ioredis with the figures of a sale that is on', async () => {
    const sale = await shop.sell({ stock: 9 })
    await Promise.all((await sessions(4)).map((session) => shop.order(sale, session)))
    const client = new Redis(shop.platform.ports.dcacenter)

    const figures = () => client.hgetall(`sku:${sale.activityId}:${sale.skuId}`)
    await waitFor('the figures', async () => (await figures()).held === '4', 10_000)

    expect(await figures()).toMatchObject({ free: '5', held: '4', sold: '0' })
    expect(await client.keys('node:*')).toEqual(expect.arrayContaining(['node:limiter-1', 'node:middle-1']))
    await expect(client.call('FLUSHALL')).rejects.toThrow('unknown command')
    await client.quit()
  })
})
