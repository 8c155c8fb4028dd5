import { nullLogger } from '@bigtap/kernel'
import { type Engine, startRedis, waitFor } from '@bigtap/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { CatalogStore } from './catalog-store.ts'
import { connectStore, type Store } from './connection.ts'
import { NameLease } from './name-lease.ts'
import { heartbeatLoop, type NodeInfo, Nodes } from './nodes.ts'

let redis: Engine
let store: Store

beforeAll(async () => {
  redis = await startRedis()
  store = connectStore({ url: redis.url, commandMsMax: 2_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
})

beforeEach(async () => void (await store.redis.flushall()))

afterAll(async () => {
  await store.close()
  await redis.stop()
})

describe('catalog', () => {
  test('documents that are published together have one revision, and a reader gets only what is newer', async () => {
    const catalog = new CatalogStore(store)
    const first = await catalog.publish([
      { key: 'a', body: { n: 1 } },
      { key: 'b', body: { n: 2 } },
    ])
    const second = await catalog.publish([{ key: 'b', body: null }])

    expect([first, second, await catalog.revision()]).toEqual([1, 2, 2])
    expect(await catalog.readSince(0)).toMatchObject([
      { key: 'a', revision: 1, body: { n: 1 } },
      { key: 'b', revision: 2, body: null },
    ])
    expect(await catalog.readSince(1)).toMatchObject([{ key: 'b', revision: 2, body: null }])
    expect(await catalog.readSince(2)).toEqual([])
  })

  test('after Redis was emptied the next revision is above those that the fronts have seen', async () => {
    const catalog = new CatalogStore(store)
    await catalog.ensureAbove(41)
    await catalog.ensureAbove(7)

    expect(await catalog.publish([{ key: 'a', body: 1 }])).toBe(42)
  })

  test('a body that is no JSON comes as undefined, and does not stop the others', async () => {
    const catalog = new CatalogStore(store)
    await catalog.publish([{ key: 'good', body: 1 }])
    await store.redis.hset('bt:{catalog}:docs', 'bad', '1|{')
    await store.redis.zadd('bt:{catalog}:changes', 1, 'bad')

    const bodies = new Map((await catalog.readSince(0)).map(({ key, body }) => [key, body]))
    expect(bodies).toEqual(
      new Map([
        ['bad', undefined],
        ['good', 1],
      ]),
    )
  })
})

describe('leases on names', () => {
  const lease = (owner: string, ttlMs = 5_000) => new NameLease(store, { name: 'sweep', owner, ttlMs })

  test('one owner at a time; the fence grows with a new owner, not with a renewal', async () => {
    expect(await lease('a', 60).hold()).toBe(1)
    expect(await lease('a', 60).hold()).toBe(1)
    expect(await lease('b').hold()).toBe(0)

    const fence = await waitFor('the lease to run out', () => lease('b').hold())
    expect(fence).toBe(2)
  })

  test('an owner may end it early, nobody else may', async () => {
    await lease('a').hold()
    await lease('b').release()
    expect(await lease('b').hold()).toBe(0)

    await lease('a').release()
    expect(await lease('b').hold()).toBe(2)
  })
})

describe('nodes', () => {
  const info: NodeInfo = {
    ...{ id: 'm1', role: 'middle', state: 'ready', address: '127.0.0.1:1', statsAddress: '' },
    ...{ revision: 3, digest: 'x', at: 5 },
  }

  test('they say that they are there, and the newest word counts; a foreign value is passed over', async () => {
    const nodes = new Nodes(store)
    await nodes.heartbeat({ ...info, at: 4 })
    await nodes.heartbeat({ ...info, state: 'leaving' })
    await store.redis.hset('bt:{nodes}', 'odd', `${Date.now()}|{`, 'older', '{"id":"older"}')

    expect(await nodes.list()).toEqual([{ ...info, state: 'leaving', ageMs: expect.any(Number) }])
    await nodes.remove('m1')
    expect(await nodes.list()).toEqual([])
  })

  test('their age is told by the clock of Redis, whatever their own clocks say', async () => {
    const nodes = new Nodes(store)
    await nodes.heartbeat({ ...info, at: Date.now() + 3_600_000 })
    const [heard] = await nodes.list()
    expect(heard?.ageMs).toBeLessThan(1_000)

    await waitFor('the node to be silent for a while', async () => ((await nodes.list())[0]?.ageMs ?? 0) >= 30)
  })

  test('a planned stop takes a node off the list', async () => {
    const nodes = new Nodes(store)
    const loop = heartbeatLoop(nodes, () => info, 5)
    loop.start()
    await waitFor('the node is there', async () => (await nodes.list()).length === 1)

    await loop.stop()

    expect(await nodes.list()).toEqual([])
  })

  test('who was silent for more than an hour is forgotten', async () => {
    const nodes = new Nodes(store)
    await store.redis.hset('bt:{nodes}', 'm1', `${Date.now() - 3_601_000}|${JSON.stringify(info)}`)

    expect(await nodes.list()).toEqual([])
    expect(await store.redis.hlen('bt:{nodes}')).toBe(0)
  })
})

test('a server that is gone fails calls at once, and its new run has another id', async () => {
  const engine = await startRedis()
  const other = connectStore({ url: engine.url, commandMsMax: 500 }, { logger: nullLogger })
  await other.waitUntilReady(5_000)
  const before = other.runId
  await engine.kill()
  await waitFor('the loss is seen', () => !other.ready())

  const startedAt = performance.now()
  await expect(other.redis.get('x')).rejects.toThrow()
  expect(performance.now() - startedAt).toBeLessThan(100)

  const again = await startRedis({ port: engine.port })
  await waitFor('the store to connect', () => other.ready())
  expect(other.runId).not.toBe(before)
  await other.close()
  await again.stop()
})
