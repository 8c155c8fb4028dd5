import { nullLogger } from '@bigtap/kernel'
import { type Engine, startRedis } from '@bigtap/testkit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectStore, Once, type Store } from './index.ts'

let redis: Engine
let store: Store

beforeAll(async () => {
  redis = await startRedis()
  store = connectStore({ url: redis.url, commandMsMax: 1_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
})
afterAll(async () => {
  await store.close()
  await redis.stop()
})

test('of all who take a name at the same time one has it', async () => {
  const other = connectStore({ url: redis.url, commandMsMax: 1_000 }, { logger: nullLogger })
  await other.waitUntilReady(5_000)
  const takers = [new Once(store), new Once(other)]

  const taken = await Promise.all(Array.from({ length: 40 }, (_, index) => takers[index % 2]?.take('ab12', 60_000)))

  expect(taken.filter(Boolean)).toHaveLength(1)
  await other.close()
})

test('a name is free again after its time, and takes no memory for ever', async () => {
  const once = new Once(store)
  expect(await once.take('cd34', 60_000)).toBe(true)

  expect(await store.redis.pttl('bt:once:cd34')).toBeGreaterThan(0)
  await store.redis.pexpire('bt:once:cd34', 0)

  expect(await once.take('cd34', 60_000)).toBe(true)
})

test('without Redis it is unknown, not free', async () => {
  const away = connectStore({ url: 'redis://127.0.0.1:1', commandMsMax: 50 }, { logger: nullLogger })

  await expect(new Once(away).take('ef56', 1_000)).rejects.toThrow()
  await away.close()
})
