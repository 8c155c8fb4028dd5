import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDb, type Db, migrate } from '@bigtap/db'
import { DEFAULT_POLICY, DEFAULT_WAITING, NO_CHALLENGE, NO_RESERVATION } from '@bigtap/domain'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import { decodeOrderEvent, OUTCOME, VERB } from '@bigtap/protocol'
import { connectStore, Ledger, NameLease, type Store } from '@bigtap/store'
import { type Engine, startPostgres, startRedis, waitFor } from '@bigtap/testkit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CallGatherer } from './call-gatherer.ts'
import { RecentOrders } from './core/recent-orders.ts'
import { declareMetrics } from './metrics.ts'
import { createRelay } from './outbox-relay.ts'
import { Rebuilder } from './rebuilder.ts'

let postgres: Engine
let db: Db

beforeAll(async () => {
  postgres = await startPostgres()
  await migrate(postgres.url)
  db = createDb({ url: postgres.url })
})

afterAll(async () => {
  await db.close()
  await postgres.stop()
})

interface Rig {
  readonly redis: { kill(): Promise<void>; restart(): Promise<void>; stop(): Promise<void> }
  readonly store: Store
  readonly ledger: Ledger
  readonly rebuilder: Rebuilder
  /** Of a second counter, which has seen no order. */
  readonly stranger: Rebuilder
  readonly recent: RecentOrders
  readonly activityId: number
  buy(n: number): Promise<number>
  carry(): Promise<void>
}

async function rig(stock: number): Promise<Rig> {
  const dir = mkdtempSync(join(tmpdir(), 'bigtap-counter-'))
  let engine = await startRedis({ dir, appendfsync: 'always' })
  const store = connectStore({ url: engine.url, commandMsMax: 1_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
  const ledger = new Ledger(store)
  const activity = await db.definitions.createActivity({
    title: 'sale',
    opensAt: 0,
    closesAt: 9_000_000_000_000,
    rule: 'once-per-product',
    admission: 'direct',
    waiting: DEFAULT_WAITING,
    challenge: NO_CHALLENGE,
    reservation: NO_RESERVATION,
    accessLimits: [],
  })
  const sku = await db.definitions.createSku(activity.id, {
    title: 'phone',
    priceCents: 100,
    currency: 'CNY',
    imageUrl: '',
    stock,
    limitPerBuyer: 1,
    policy: DEFAULT_POLICY,
    paused: false,
  })
  const skuId = sku?.id ?? 0
  await ledger.open(activity.id, activity.rule, [
    { skuId, stock, overbook: 1, limitPerBuyer: 1, priceCents: 100, holdSeconds: 900 },
  ])
  const recent = new RecentOrders(1_000)
  const clock = { now: Date.now, monotonic: () => performance.now() }
  const lease = new NameLease(store, { name: 'rebuild', owner: 'test', ttlMs: 1_000 })
  const activities = () => [{ id: activity.id, state: 'open' }]
  const rebuilding = { store, ledger, db, clock, logger: nullLogger, activities }
  const rebuilder = new Rebuilder({ ...rebuilding, recent, lease })
  const strangersLease = new NameLease(store, { name: 'rebuild', owner: 'stranger', ttlMs: 1_000 })
  const stranger = new Rebuilder({ ...rebuilding, recent: new RecentOrders(10), lease: strangersLease })
  const gatherer = new CallGatherer(
    { waitingMax: 100 },
    { ledger, onReply: (id, { order }) => order && recent.add(id, order), onFault: () => undefined },
  )
  declareMetrics(nullMetrics, { gatherer, recent, rebuilder, grants: { carried: 0 } })
  const tokenId = (n: number) => (activity.id * 1_000 + n).toString(16).padStart(32, '0')
  const call = {
    verb: VERB.reserve,
    callId: 1,
    orderId: '',
    requestId: '',
    activityId: activity.id,
    skuId,
    quantity: 1,
  }
  const relay = createRelay({
    ledger,
    currencyOf: () => 'CNY',
    onOrder: () => undefined,
    topic: {
      send: async (_topic, records) => {
        const events = records.map(({ value }) => decodeOrderEvent(value))
        await db.orders.upsertMany(
          events.map(({ type, at, ...event }) => ({ ...event, state: type, createdAt: at, updatedAt: at })),
        )
      },
    },
  })
  return {
    redis: {
      kill: () => engine.kill(),
      restart: async () => {
        engine = await startRedis({ dir, port: engine.port, appendfsync: 'always' })
        await waitFor('the store to connect', () => store.ready())
      },
      stop: async () => {
        await store.close()
        await engine.stop()
      },
    },
    store,
    ledger,
    rebuilder,
    stranger,
    recent,
    activityId: activity.id,
    buy: (n) =>
      new Promise((resolve) =>
        gatherer.add({ ...call, tokenId: tokenId(n), uid: n, expiresAt: Date.now() + 60_000 }, (outcome) =>
          resolve(outcome),
        ),
      ),
    carry: async () => void (await relay(activity.id)),
  }
}

const figuresOf = async ({ ledger, activityId }: Rig) => [...(await ledger.figures(activityId)).values()][0]

describe('redis killed and restarted in the middle of a sale', () => {
  test('nothing is lost, nothing is taken before the ledger is verified, and the sale goes on', async () => {
    const sale = await rig(5)
    expect(await Promise.all([1, 2, 3].map((n) => sale.buy(n)))).toEqual([OUTCOME.ok, OUTCOME.ok, OUTCOME.ok])

    await sale.redis.kill()
    expect(await sale.buy(4)).toBe(OUTCOME.unavailable)
    await sale.redis.restart()
    expect(await sale.buy(4)).toBe(OUTCOME.unavailable)
    await sale.rebuilder.round()

    expect(sale.rebuilder.history).toMatchObject([{ lost: 0, conflicts: 0 }])
    expect(await sale.buy(2)).toBe(OUTCOME.repeated)
    expect(await Promise.all([4, 5, 6].map((n) => sale.buy(n)))).toEqual([OUTCOME.ok, OUTCOME.ok, OUTCOME.soldOut])
    expect(await figuresOf(sale)).toMatchObject({ stock: 5, free: 0, held: 5, reservedTotal: 5 })
    await sale.redis.stop()
  })
})

describe('redis emptied in the middle of a sale', () => {
  test('the ledger comes back from PostgreSQL and from memory, and is never oversold', async () => {
    const sale = await rig(5)
    await Promise.all([1, 2].map((n) => sale.buy(n)))
    await sale.carry()
    await sale.buy(3)

    await sale.store.redis.flushall()
    expect(await sale.buy(4)).toBe(OUTCOME.unavailable)
    expect(await sale.buy(4)).toBe(OUTCOME.closed)
    await sale.rebuilder.round()

    expect(sale.rebuilder.history).toMatchObject([{ adopted: 3, lost: 0, conflicts: 0 }])
    expect(await Promise.all([1, 2, 3].map((n) => sale.buy(n)))).toEqual(Array(3).fill(OUTCOME.repeated))
    expect(await Promise.all([4, 5, 6].map((n) => sale.buy(n)))).toEqual([OUTCOME.ok, OUTCOME.ok, OUTCOME.soldOut])
    await sale.carry()
    expect((await db.orders.countsBySku(sale.activityId))[0]).toMatchObject({ orders: 5, held: 5 })
    await sale.redis.stop()
  })

  test('an order that only another counter remembers comes back when that one finds it missing', async () => {
    const sale = await rig(2)
    await sale.buy(1)

    await sale.store.redis.flushall()
    await sale.stranger.round()
    expect(await figuresOf(sale)).toMatchObject({ free: 2, held: 0 })
    await sale.rebuilder.round()
    await sale.rebuilder.round()

    expect(await figuresOf(sale)).toMatchObject({ free: 1, held: 1 })
    expect(sale.rebuilder.history).toMatchObject([{ adopted: 1, lost: 0, conflicts: 0 }])
    await sale.redis.stop()
  })

  test('a product whose units went round is rebuilt whatever the order of its orders', async () => {
    const sale = await rig(1)
    const order = async (n: number) =>
      (await sale.ledger.scanOrders(sale.activityId, 0)).orders.find((o) => o.uid === n)
    await sale.buy(2)
    await sale.ledger.cancel(sale.activityId, [(await order(2))?.orderId ?? ''])
    await sale.buy(1)
    await sale.carry()

    await sale.store.redis.flushall()
    await sale.rebuilder.round()

    expect(sale.rebuilder.history).toMatchObject([{ adopted: 2, conflicts: 0, lost: 0 }])
    expect(await figuresOf(sale)).toMatchObject({ free: 0, held: 1, reservedTotal: 2 })
    expect(await sale.buy(3)).toBe(OUTCOME.soldOut)
    await sale.redis.stop()
  })

  test('a rebuild that cannot read the record leaves the ledger closed, and the next one opens it', async () => {
    const sale = await rig(5)
    await sale.buy(1)
    const listByActivity = db.orders.listByActivity
    db.orders.listByActivity = () => Promise.reject(new Error('the database is away'))

    await sale.store.redis.flushall()
    await expect(sale.rebuilder.round()).rejects.toThrow('the database is away')
    expect(await sale.buy(2)).toBe(OUTCOME.unavailable)
    db.orders.listByActivity = listByActivity
    await sale.rebuilder.round()

    expect(await sale.buy(1)).toBe(OUTCOME.repeated)
    expect(await sale.buy(2)).toBe(OUTCOME.ok)
    await sale.redis.stop()
  })

  test('what nobody remembers is counted and shown', async () => {
    const sale = await rig(5)
    await Promise.all([1, 2].map((n) => sale.buy(n)))
    await sale.carry()
    await sale.buy(3)
    sale.recent.drop(sale.activityId) // as if this process had forgotten it

    await sale.store.redis.flushall()
    await sale.rebuilder.round()

    expect(sale.rebuilder.lostTotal).toBe(1)
    expect(await figuresOf(sale)).toMatchObject({ free: 3, held: 2 })
    await sale.buy(4)
    await sale.carry()
    await sale.store.redis.flushall()
    await sale.rebuilder.round()
    expect(sale.rebuilder.history).toHaveLength(2)
    expect(sale.rebuilder.lostTotal).toBe(1) // lost once, however often the ledger is rebuilt
    await sale.redis.stop()
  })
})
