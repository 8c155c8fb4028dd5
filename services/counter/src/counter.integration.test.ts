import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDb, type Db, migrate } from '@bigtap/db'
import {
  checkInvariants,
  DEFAULT_POLICY,
  DEFAULT_WAITING,
  NO_CHALLENGE,
  NO_FIGURES,
  NO_RESERVATION,
} from '@bigtap/domain'
import { createMemoryLog } from '@bigtap/eventlog'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import { decodeOrderEvent, OUTCOME } from '@bigtap/protocol'
import { createWorker } from '@bigtap/runtime'
import { connectStore, Ledger, NameLease, type Store } from '@bigtap/store'
import { type Engine, SeededRandom, startPostgres, startRedis, waitFor } from '@bigtap/testkit'
import { createServer, LedgerClient, type Server } from '@bigtap/transport'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { CallGatherer } from './call-gatherer.ts'
import { RecentOrders } from './core/recent-orders.ts'
import { Keeper } from './keeper.ts'
import { createLedgerServer } from './ledger-server.ts'
import { createRelay } from './outbox-relay.ts'
import { Rebuilder } from './rebuilder.ts'

/** All parts of the process over real links, Redis and PostgreSQL; the log of orders is stored as the order service does. */
const STOCK = 40
const clock = { now: () => Date.now(), monotonic: () => performance.now() }
const parts = { logger: nullLogger, metrics: nullMetrics, clock, random: new SeededRandom(1) }
const identity = { nodeId: 'counter-1', role: 'counter', clusterSecret: 'cluster secret of the tests' }
const dir = mkdtempSync(join(tmpdir(), 'bigtap-counter-'))

let postgres: Engine
let redis: Engine
let db: Db
let store: Store
let ledger: Ledger
let client: LedgerClient
let server: Server
let rebuilder: Rebuilder
let loops: { stop(): unknown }[] = []
let activityId = 0
let skuId = 0
let next = 0

beforeAll(async () => {
  postgres = await startPostgres()
  await migrate(postgres.url)
  db = createDb({ url: postgres.url })
  redis = await startRedis({ dir, appendfsync: 'always' })
})

beforeEach(async () => {
  await define()
  store = connectStore({ url: redis.url, commandMsMax: 1_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
  ledger = new Ledger(store)
  await ledger.open(activityId, 'once-per-product', [
    { skuId, stock: STOCK, overbook: 1, limitPerBuyer: 1, priceCents: 100, holdSeconds: 900 },
  ])
  await startCounter()
})

afterEach(async () => {
  await client.stop()
  await server.stop()
  for (const loop of loops) await loop.stop()
  await store.close()
})

afterAll(async () => {
  await db.close()
  await postgres.stop()
  await redis.stop()
})

async function define() {
  const activity = await db.definitions.createActivity({
    ...{
      title: 'sale',
      opensAt: 0,
      closesAt: 9_000_000_000_000,
      rule: 'once-per-product',
      admission: 'direct',
      waiting: DEFAULT_WAITING,
      challenge: NO_CHALLENGE,
    },
    ...{ reservation: NO_RESERVATION, accessLimits: [], stage: 'middle' },
  })
  const sku = await db.definitions.createSku(activity.id, {
    ...{ title: 'phone', priceCents: 100, currency: 'CNY', imageUrl: '', stock: STOCK, limitPerBuyer: 1 },
    ...{ policy: DEFAULT_POLICY, paused: false },
  })
  activityId = activity.id
  skuId = sku?.id ?? 0
}

async function startCounter() {
  const recent = new RecentOrders(1_000)
  const activities = () => [{ id: activityId, state: 'open' }]
  const leaseOf = (name: string) => new NameLease(store, { name, owner: 'counter-1', ttlMs: 1_000 })
  rebuilder = new Rebuilder({ ...parts, store, ledger, db, recent, lease: leaseOf('rebuild'), activities })
  const gatherer = new CallGatherer(
    { waitingMax: 1_000 },
    { ledger, onReply: (id, { order }) => order && recent.add(id, order), onFault: () => undefined },
  )
  const eventLog = createMemoryLog()
  const relay = createRelay({
    ...{ ledger, topic: eventLog.producer(), currencyOf: () => 'CNY' },
    onOrder: (id, order) => recent.add(id, order),
  })
  const keeper = (name: string, work: (id: number) => Promise<boolean>) =>
    new Keeper({ name, everyMs: 20 }, { lease: leaseOf(name), logger: nullLogger, activities, work })
  const running = [
    keeper('relay', relay),
    keeper('sweep', async (id) => (await ledger.sweep(id, 500)).isMore),
    createWorker({ name: 'verifier', everyMs: 50, work: () => rebuilder.round() }, nullLogger),
  ]
  for (const loop of running) loop.start()
  const consumer = eventLog.consumer({ topic: 'orders', group: 'order' })
  void consumer.run(async ({ records }) => {
    const events = records.map(({ value }) => decodeOrderEvent(value))
    await db.orders.upsertMany(
      events.map(({ type, at, ...event }) => ({ ...event, state: type, createdAt: at, updatedAt: at })),
    )
  })
  loops = [...running, { stop: () => consumer.stop() }, { stop: () => eventLog.close() }]
  const onFrame = createLedgerServer({ gatherer, clock, onSeconds: () => undefined })
  server = createServer(
    { ...identity, host: '127.0.0.1', port: 0 },
    { ...parts, onFrame: (link, kind, _, body) => onFrame(link, kind, body) },
  )
  const { port } = await server.start()
  const dialing = { ...identity, nodeId: 'cart-1', role: 'cart', address: `127.0.0.1:${port}` }
  client = new LedgerClient({ ...dialing, deadlineMs: 2_000, callsMax: 1_000, mergeMax: 128 }, parts)
  client.start()
  await client.dialer.ready(2_000)
}

/** A buyer: repeats the same token until there is an answer. */
async function buy(uid: number): Promise<number> {
  const claims = { tokenId: (++next).toString(16).padStart(32, '0'), uid, activityId, skuId, quantity: 1 }
  for (;;) {
    const { outcome } = await client.reserve({ ...claims, expiresAt: Date.now() + 60_000 }).catch(() => unknown)
    if (outcome !== OUTCOME.unavailable && outcome !== OUTCOME.closed) return outcome
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
const unknown = { outcome: OUTCOME.unavailable }

/** Twice as many buyers as units; `accident` happens when a quarter has bought. */
async function sellAll(accident: () => Promise<void>): Promise<number> {
  let sold = 0
  let under: Promise<void> | undefined
  const buyers = Array.from({ length: STOCK * 2 }, async (_, index) => {
    await new Promise((resolve) => setTimeout(resolve, index * 5))
    const outcome = await buy(index + 1)
    if (outcome === OUTCOME.ok || outcome === OUTCOME.repeated) sold++
    if (sold === STOCK / 4) under ??= accident()
  })
  await Promise.all(buyers)
  await under
  return sold
}

async function expectEverythingSold(sold: number) {
  const figures = (await ledger.figures(activityId)).get(skuId) ?? NO_FIGURES
  expect(checkInvariants(figures)).toEqual([])
  expect(figures).toMatchObject({ stock: STOCK, free: 0, held: STOCK, sold: 0 })
  expect(sold).toBe(STOCK)
  const stored = () => db.orders.countsBySku(activityId).then(([row]) => (row?.orders === STOCK ? row : undefined))
  expect(await waitFor('all orders to be stored', stored)).toMatchObject({ orders: STOCK, held: STOCK })
}

test('a sale over the links: as many orders as units, and each is stored once', async () => {
  await expectEverythingSold(await sellAll(async () => undefined))
  expect(rebuilder.history).toEqual([])
})

test('Redis killed and restarted in the middle of a sale: nothing lost, never oversold', async () => {
  const sold = await sellAll(async () => {
    await redis.kill()
    redis = await startRedis({ dir, port: redis.port, appendfsync: 'always' })
  })

  await expectEverythingSold(sold)
  expect(rebuilder.history).toMatchObject([{ lost: 0, conflicts: 0 }])
})

test('Redis emptied in the middle of a sale: rebuilt from the record and from memory, never oversold', async () => {
  const sold = await sellAll(async () => void (await store.redis.flushall()))

  await expectEverythingSold(sold)
  expect(rebuilder.history).toMatchObject([{ lost: 0, conflicts: 0 }])
})

test('Redis emptied and restarted in the middle of a sale: the same', async () => {
  const sold = await sellAll(async () => {
    await store.redis.flushall()
    await redis.kill()
    redis = await startRedis({ dir, port: redis.port, appendfsync: 'always' })
  })

  await expectEverythingSold(sold)
  expect(rebuilder.lostTotal).toBe(0)
})
