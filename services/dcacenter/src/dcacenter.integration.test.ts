import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findRedis } from '@bigtap/engines'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import type { Stats } from '@bigtap/protocol'
import { connectFigures, connectStore, NameLease, Nodes, PushList, type Store, type Tick } from '@bigtap/store'
import { type Engine, startRedis, waitFor } from '@bigtap/testkit'
import { createServer, createStatsResponder, type Server } from '@bigtap/transport'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDcacenter } from './dcacenter.ts'
import { TAKER_LEASE_MS } from './push-taker.ts'

const clock = { now: () => Date.now(), monotonic: () => performance.now() }
const random = {
  next: () => Math.random(),
  bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
}
const tools = { logger: nullLogger, metrics: nullMetrics, clock, random }
const clusterSecret = 'a cluster secret of the tests'
const password = 'the password of the tests'

/** redis-cli stands beside the server, under its own name or Valkey's. */
const redisCli = ['redis-cli', 'valkey-cli'].map((name) => join(dirname(findRedis()), name)).find(existsSync)

interface FakeNode {
  readonly server: Server
  readonly stats: Stats
}

type Dcacenter = ReturnType<typeof createDcacenter>

let redis: Engine
let store: Store
let nodes: Nodes
const fakes: FakeNode[] = []
const timers: NodeJS.Timeout[] = []
const running: Dcacenter[] = []
let open: { center: Dcacenter; port: number }
let locked: { center: Dcacenter; port: number }

/** A node behind a real link; one that is stuck takes questions and answers none. */
async function fakeNode(stats: Stats, isStuck = false): Promise<void> {
  let pulls = 0
  const skus = () => stats.skus.map((sku) => ({ ...sku, figures: { ...sku.figures, pulls: ++pulls } }))
  const answer = createStatsResponder(() => ({ ...stats, at: Date.now(), skus: skus() }), tools)
  const server = createServer(
    { host: '127.0.0.1', port: 0, nodeId: stats.nodeId, role: stats.role, clusterSecret, drainMs: 50 },
    { ...tools, onFrame: (link, kind, correlation) => void (isStuck || answer(link, kind, correlation)) },
  )
  const { port } = await server.start()
  fakes.push({ server, stats })
  const info = { id: stats.nodeId, role: stats.role, state: 'ready' as const, address: '127.0.0.1:1', at: 0 }
  const beat = () => nodes.heartbeat({ ...info, statsAddress: `127.0.0.1:${port}`, revision: 1, digest: '' })
  await beat()
  timers.push(setInterval(() => void beat().catch(() => undefined), 300))
}

async function start(nodeId: string, secret: string | undefined): Promise<{ center: Dcacenter; port: number }> {
  const center = createDcacenter(
    { nodeId, host: '127.0.0.1', port: 0, clusterSecret, pullMs: 200, password: secret },
    {
      ...{ ...tools, nodes, list: new PushList(store) },
      lease: new NameLease(store, { name: 'dcacenter', owner: nodeId, ttlMs: TAKER_LEASE_MS }),
      readFigures: () => ({ cpu: 0.1, rss: 1, eventLoopMs: 0 }),
    },
  )
  running.push(center)
  await center.puller.follow()
  center.puller.start()
  timers.push(setInterval(() => center.ticker.look(), 100))
  timers.push(setInterval(() => void center.taker.round().catch(() => undefined), 100))
  return { center, port: await center.server.start() }
}

beforeAll(async () => {
  redis = await startRedis()
  store = connectStore({ url: redis.url, commandMsMax: 2_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
  nodes = new Nodes(store)
  const limiter = { role: 'limiter', at: 0, labels: { digest: 'd1' } }
  const sku = { activityId: 1, skuId: 2, state: '' }
  await fakeNode({ ...limiter, nodeId: 'limiter-stuck', figures: {}, skus: [] }, true)
  await fakeNode({
    ...{ ...limiter, nodeId: 'limiter-1', figures: { connections: 5, queueDepth: 2, revision: 7, asks: 100 } },
    skus: [{ ...sku, figures: { asks: 100 } }],
  })
  await fakeNode({
    ...{ ...limiter, role: 'middle', nodeId: 'middle-1', figures: { queueDepth: 1, revision: 7 } },
    skus: [{ ...sku, state: 'releasing', figures: { granted: 4, free: 6, held: 3, sold: 1, stock: 10 } }],
  })
  open = await start('dcacenter-open', undefined)
  locked = await start('dcacenter-locked', password)
  await waitFor('the figures', () => open.center.keyspace.hash('sku:1:2')?.get('askRate') !== undefined)
  await waitFor('the figures', () => locked.center.keyspace.hash('node:middle-1') !== undefined)
})

afterAll(async () => {
  for (const timer of timers) clearInterval(timer)
  await Promise.all(running.flatMap(({ puller, server }) => [puller.stop(), server.stop()]))
  await Promise.all(fakes.map(({ server }) => server.stop()))
  await store.close()
  await redis.stop()
})

describe.skipIf(redisCli === undefined)('redis-cli', () => {
  const cli = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)(redisCli ?? '', ['-p', String(open.port), ...args])
    return stdout.trim()
  }
  const pairs = (text: string) => {
    const lines = text.split('\n')
    return new Map(lines.flatMap((line, index) => (index % 2 === 0 ? [[line, lines[index + 1] ?? '']] : [])))
  }

  test('PING and INFO', async () => {
    expect(await cli('PING')).toBe('PONG')
    expect(await cli('INFO')).toMatch(/redis_version:7[\s\S]*loading:0[\s\S]*role:master[\s\S]*pulled_nodes:3/)
  })

  test('KEYS * names nodes, SKUs, activities and totals, and a pattern its part of them', async () => {
    const keys = (await cli('KEYS', '*')).split('\n')

    for (const key of ['totals', 'nodes', 'node:limiter-1', 'node:middle-1', 'sku:1:2', 'activity:1'])
      expect(keys).toContain(key)
    expect(await cli('KEYS', 'sku:*')).toBe('sku:1:2')
    expect(await cli('--scan', '--pattern', 'node:*')).toContain('node:middle-1')
  })

  test('HGETALL totals sums over the nodes that answer', async () => {
    const totals = pairs(await cli('HGETALL', 'totals'))

    expect(totals.get('connections')).toBe('5')
    expect(Object.fromEntries(totals)).toMatchObject({ free: '6', held: '3', sold: '1', granted: '4', asks: '100' })
    expect(Number(totals.get('ageMs'))).toBeLessThan(60_000)
    expect(await cli('-3', 'HGETALL', 'totals')).toMatch(/free.*6/)
  })

  test('a SKU, a node, a series, and what is not there', async () => {
    expect(Object.fromEntries(pairs(await cli('HGETALL', 'sku:1:2')))).toMatchObject({
      ...{ state: 'releasing', free: '6', held: '3', sold: '1', granted: '4', askRate: '0', grantRate: '0', shed: '0' },
      ageMs: expect.stringMatching(/^\d+$/),
    })
    expect(await cli('HGET', 'node:limiter-1', 'digest')).toBe('d1')
    await waitFor('a point', async () => (await cli('GET', 'series:sku:1:2:free')) !== '')
    expect(JSON.parse(await cli('GET', 'series:sku:1:2:free'))[0][1]).toBe(6)
    expect(await cli('HGET', 'sku:9:9', 'free')).toBe('')
    expect(await cli('TYPE', 'sku:1:2')).toBe('hash')
    expect(await cli('EXISTS', 'sku:1:2', 'sku:9:9')).toBe('1')
  })

  test('a command that is not known is said to be so, and so is every one that would write', async () => {
    expect(await cli('FROBNICATE', 'now')).toBe("ERR unknown command 'FROBNICATE', with args beginning with: 'now'")
    for (const command of ['SET', 'DEL', 'HSET', 'FLUSHALL', 'PUBLISH', 'CONFIG'])
      expect(await cli(command, 'a', 'b')).toMatch(/^ERR unknown command/)
  })

  test('SUBSCRIBE tick brings a tick a second', async () => {
    const child = spawn(redisCli ?? '', ['-p', String(open.port), 'SUBSCRIBE', 'tick'])
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })

    await waitFor('two ticks', () => text.split('"at":').length > 2)
    child.kill()

    expect(text).toMatch(/^subscribe\ntick\n1\nmessage\ntick\n\{"at":\d+,"totals":\{/)
  })

  test('a pipe of hundreds of commands is answered in order', async () => {
    const child = spawn(redisCli ?? '', ['-p', String(open.port)])
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    const ended = new Promise((resolve) => child.on('close', resolve))

    child.stdin.end(Array.from({ length: 500 }, (_, index) => `PING ${index}`).join('\n'))
    await ended

    expect(text.trim().split('\n')).toEqual(Array.from({ length: 500 }, (_, index) => String(index)))
  })
})

describe.each([2, 3] as const)('ioredis over RESP%d', (protocol) => {
  const connect = (more: object = {}) =>
    new Redis({ host: '127.0.0.1', port: open.port, protocol, maxRetriesPerRequest: 0, ...more })

  test('reads hashes, keys and series, and listens', async () => {
    const client = connect()
    const listener = connect()
    const seen: [string, string][] = []
    listener.on('message', (channel, text) => void seen.push([channel, text]))
    listener.on('pmessage', (_pattern, channel, text) => void seen.push([channel, text]))

    expect(await client.ping()).toBe('PONG')
    expect(await client.hgetall('sku:1:2')).toMatchObject({ free: '6', state: 'releasing' })
    expect(await client.hgetall('nothing')).toEqual({})
    expect(await client.hget('sku:1:2', 'held')).toBe('3')
    expect(await client.hkeys('node:limiter-1')).toContain('queueDepth')
    expect(await client.mget('series:a:b', 'totals')).toEqual([null, null])
    await expect(client.get('totals')).rejects.toThrow('WRONGTYPE')
    await expect(client.set('a', 'b')).rejects.toThrow("unknown command 'set'")
    const found = new Set<string>()
    for await (const keys of client.scanStream({ match: 'node:*', count: 3 })) for (const key of keys) found.add(key)
    expect([...found].sort()).toEqual(['node:dcacenter-open', 'node:limiter-1', 'node:middle-1'])
    await listener.subscribe('tick')
    await listener.psubscribe('sku:1:*')
    await waitFor('both channels', () => new Set(seen.map(([channel]) => channel)).size === 2)

    expect(JSON.parse(seen.find(([channel]) => channel === 'tick')?.[1] ?? '').skus).toHaveLength(1)
    expect(JSON.parse(seen.find(([channel]) => channel === 'sku:1:2')?.[1] ?? '').figures.free).toBe(6)
    await listener.unsubscribe('tick')
    await listener.quit()
    await client.quit()
  })

  test('with a password, only who gives it may read', async () => {
    const stranger = connect({ port: locked.port, enableReadyCheck: false })
    const friend = connect({ port: locked.port, password })
    const liar = connect({ port: locked.port, password: 'another', retryStrategy: () => null })
    const errors: string[] = []
    for (const one of [stranger, liar]) one.on('error', (error) => void errors.push(error.message))

    await expect(stranger.hgetall('totals')).rejects.toThrow('NOAUTH')
    expect(await friend.hget('node:middle-1', 'role')).toBe('middle')
    await waitFor('the refusal', () => errors.some((error) => error.includes('WRONGPASS')))
    for (const one of [stranger, friend, liar]) one.disconnect()
  })
})

test('a stuck node delays no other: its neighbours are asked again and again', async () => {
  const { center } = open
  const ageOf = (id: string) => Number(center.keyspace.hash(`node:${id}`)?.get('ageMs'))
  const before = center.memory.node('limiter-1', performance.now())?.heardAt ?? 0

  await waitFor('three more answers', () => {
    const node = center.memory.node('limiter-1', performance.now())
    return (node?.heardAt ?? 0) > before + 400 && ageOf('middle-1') < 5_000
  })

  expect(center.keyspace.hash('node:limiter-stuck')).toBeUndefined()
  expect(center.puller.pace.everyMs).toBe(200)
})

test('what other services push is seen, bad JSON is skipped, and only one dcacenter takes', async () => {
  const list = new PushList(store)
  const sku = {
    activityId: 1,
    skuId: 2,
    state: '',
    figures: { free: 5, held: 4, sold: 1, stock: 10, reservedTotal: 5 },
  }
  await store.redis.rpush('bt:push', '{"nodeId":', '[]', JSON.stringify({ nodeId: 'x', role: 'cart', at: 1 }))
  await list.push({
    ...{ nodeId: 'counter-1', role: 'counter', at: Date.now(), labels: {} },
    figures: { queueDepth: 9, cpu: Number.NaN },
    skus: [sku],
  })

  const [active, standby] = await waitFor('one that took', () => {
    const took = running.filter(({ keyspace }) => keyspace.hash('node:counter-1') !== undefined)
    return took.length > 0 && [took[0], running.find((one) => one !== took[0])]
  })

  expect([active?.taker.isActive, standby?.taker.isActive]).toEqual([true, false])
  expect(active?.keyspace.hash('node:counter-1')?.get('queueDepth')).toBe(9)
  expect(active?.keyspace.hash('node:counter-1')?.has('cpu')).toBe(false)
  expect(active?.memory.refused.get('skewed')).toBe(1)
})

test('the reader of the store gives totals, SKUs, nodes and ticks', async () => {
  const ticks: Tick[] = []
  const reader = connectFigures({ url: `redis://127.0.0.1:${open.port}` }, tools)
  reader.onTick((tick) => void ticks.push(tick))
  await waitFor('the connection', () => reader.ready())

  const [sku] = await reader.skus()
  const tick = await waitFor('a tick', () => ticks[0])

  expect((await reader.totals()).skus).toBe(1)
  expect(sku).toMatchObject({ activityId: 1, skuId: 2, state: 'releasing', figures: { granted: expect.any(Number) } })
  expect((await reader.nodes()).map(({ id }) => id)).toContain('middle-1')
  expect(tick.nodes.find(({ id }) => id === 'limiter-1')).toMatchObject({
    ...{ role: 'limiter', labels: { digest: 'd1' } },
    figures: { queueDepth: 2, revision: 7 },
  })
  reader.close()
})
