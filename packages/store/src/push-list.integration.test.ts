import { nullLogger } from '@bigtap/kernel'
import { type Engine, startRedis } from '@bigtap/testkit'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { connectStore, type Store } from './connection.ts'
import { createFigurePush } from './figure-push.ts'
import { PUSHES_MAX, PushList } from './push-list.ts'

const stats = (at: number) => ({ nodeId: 'cart-1', role: 'cart', at, figures: { cpu: 0.1 }, labels: {}, skus: [] })

let redis: Engine
let store: Store
let list: PushList

beforeAll(async () => {
  redis = await startRedis()
  store = connectStore({ url: redis.url, commandMsMax: 2_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
  list = new PushList(store)
})

beforeEach(async () => void (await store.redis.flushall()))

afterAll(async () => {
  await store.close()
  await redis.stop()
})

test('figures are taken in the order in which they were pushed, each once', async () => {
  for (const at of [1, 2, 3]) await list.push(stats(at))

  expect(await list.take(2)).toEqual({ values: [stats(1), stats(2)], bad: 0 })
  expect(await list.take(2)).toEqual({ values: [stats(3)], bad: 0 })
  expect(await list.take(2)).toEqual({ values: [], bad: 0 })
})

test('a text that is no JSON is counted and skipped', async () => {
  await store.redis.rpush('bt:push', '{"nodeId":', 'null', JSON.stringify(stats(1)))

  expect(await list.take(10)).toEqual({ values: [null, stats(1)], bad: 1 })
})

test('with nobody to take them, the newest 10,000 stay', async () => {
  await store.redis.rpush('bt:push', ...new Array(PUSHES_MAX).fill('{}'))

  await list.push(stats(7))

  expect(await list.length()).toBe(PUSHES_MAX)
  expect(await store.redis.lindex('bt:push', -1)).toBe(JSON.stringify(stats(7)))
})

test('a service pushes its process, its catalog and its own figures in one', async () => {
  const push = createFigurePush({
    ...{ nodeId: 'cart-1', role: 'cart', store, clock: { now: () => 5, monotonic: () => 0 } },
    catalog: { revision: 3, digest: 'abc', refused: [] },
    readProcess: () => ({ cpu: 0.5 }),
    readOwn: () => ({ figures: { queueDepth: 7 }, labels: { leader: 'm1' } }),
  })

  await push()

  expect((await list.take(1)).values).toEqual([
    {
      ...{ nodeId: 'cart-1', role: 'cart', at: 5, skus: [] },
      ...{ figures: { cpu: 0.5, revision: 3, refused: 0, queueDepth: 7 }, labels: { digest: 'abc', leader: 'm1' } },
    },
  ])
})
