import { checkInvariants, NO_FIGURES } from '@bigtap/domain'
import { nullLogger, SLOT_COUNT, slotOf } from '@bigtap/kernel'
import { type Engine, SeededRandom, startRedis, waitFor } from '@bigtap/testkit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectStore, type Store } from './connection.ts'
import { GrantLog } from './grant-log.ts'
import { rootKey } from './guards.ts'
import { LEDGER_OUTCOME, Ledger, type LedgerSku, type Reservation, TOKEN_GRACE_MS } from './ledger.ts'
import type { Claimant } from './lines.ts'
import type { LedgerOrder } from './order-record.ts'

let redis: Engine
let store: Store
let ledger: Ledger
let log: GrantLog
let activity = 0

const sku = (change: Partial<LedgerSku> = {}): LedgerSku => ({
  skuId: 1,
  stock: 10,
  overbook: 1,
  limitPerBuyer: 1,
  priceCents: 100,
  holdSeconds: 60,
  ...change,
})
const tokenId = (n: number) => n.toString(16).padStart(32, '0')
const want = (n: number, change: Partial<Reservation> = {}): Reservation => ({
  tokenId: tokenId(n),
  uid: n,
  skuId: 1,
  quantity: 1,
  expiresAt: Date.now() + 60_000,
  ...change,
})
const figures = async (skuId = 1) => (await ledger.figures(activity)).get(skuId)

beforeAll(async () => {
  redis = await startRedis({ appendfsync: 'always' })
  store = connectStore({ url: redis.url, commandMsMax: 2_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
  ledger = new Ledger(store)
  log = new GrantLog(store, ledger.guards)
})

afterAll(async () => {
  await store.close()
  await redis.stop()
})

async function open(skus: LedgerSku[] = [sku()], rule: Parameters<Ledger['open']>[1] = 'once-per-product') {
  activity++
  await ledger.open(activity, rule, skus)
}

const ALL_SLOTS = [...Array(SLOT_COUNT).keys()]

/** A node that owns all slots by table `epoch`. */
async function owner(nodeId: string, epoch = 1): Promise<Claimant> {
  const who = { activityId: activity, nodeId, fence: await log.claim(activity, nodeId) }
  await log.claimSlots(who, ALL_SLOTS, epoch)
  return who
}

describe('reserve', () => {
  test('the last unit goes to one of 50 parallel buyers', async () => {
    await open([sku({ stock: 1 })])

    const replies = await Promise.all(Array.from({ length: 50 }, (_, n) => ledger.reserve(activity, [want(n + 1)])))

    const outcomes = replies.map(([reply]) => reply?.outcome)
    expect(outcomes.filter((one) => one === LEDGER_OUTCOME.ok)).toHaveLength(1)
    expect(outcomes.filter((one) => one === LEDGER_OUTCOME.soldOut)).toHaveLength(49)
    expect(await figures()).toMatchObject({ free: 0, held: 1, sold: 0 })
  })

  test('the same token always gives the same order, within a batch too', async () => {
    await open()

    const [first, twin] = await ledger.reserve(activity, [want(1), want(1)])
    const [again] = await ledger.reserve(activity, [want(1)])

    expect(first?.outcome).toBe(LEDGER_OUTCOME.ok)
    expect([twin?.outcome, again?.outcome]).toEqual([LEDGER_OUTCOME.repeated, LEDGER_OUTCOME.repeated])
    expect([twin?.order, again?.order]).toEqual([first?.order, first?.order])
    expect(await figures()).toMatchObject({ held: 1, reservedTotal: 1 })
  })

  test('a buyer gets no more than the rule allows, and may buy again after giving back', async () => {
    await open([sku(), sku({ skuId: 2 })], 'one-product-per-activity')
    await ledger.reserve(activity, [want(1, { uid: 7 })])

    const refused = await ledger.reserve(activity, [want(2, { uid: 7 }), want(3, { uid: 7, skuId: 2 })])
    await ledger.cancel(activity, [`o${tokenId(1)}`])
    const [after] = await ledger.reserve(activity, [want(4, { uid: 7, skuId: 2 })])

    expect(refused.map(({ outcome }) => outcome)).toEqual([LEDGER_OUTCOME.ruleRefused, LEDGER_OUTCOME.ruleRefused])
    expect(after?.outcome).toBe(LEDGER_OUTCOME.ok)
  })

  test('a token that has run out and an unknown product are refused', async () => {
    await open()

    const replies = await ledger.reserve(activity, [want(1, { expiresAt: Date.now() - 1_000 }), want(2, { skuId: 99 })])

    expect(replies.map(({ outcome }) => outcome)).toEqual([LEDGER_OUTCOME.tokenExpired, LEDGER_OUTCOME.notFound])
  })
})

describe('settling', () => {
  test('a payment counts once however often it comes, and a paid order cannot be cancelled', async () => {
    await open()
    await ledger.reserve(activity, [want(1)])
    const orderId = `o${tokenId(1)}`

    const replies = await Promise.all(Array.from({ length: 20 }, () => ledger.confirm(activity, [orderId])))
    const [cancelled] = await ledger.cancel(activity, [orderId])

    const outcomes = replies.map(([reply]) => reply?.outcome)
    expect(outcomes.filter((one) => one === LEDGER_OUTCOME.ok)).toHaveLength(1)
    expect(outcomes.filter((one) => one === LEDGER_OUTCOME.repeated)).toHaveLength(19)
    expect(cancelled?.outcome).toBe(LEDGER_OUTCOME.wrongState)
    expect(await figures()).toMatchObject({ held: 0, sold: 1, free: 9 })
  })

  test('an abandoned hold returns, and its late payment is refused', async () => {
    await open([sku({ holdSeconds: 0.05 })])
    await ledger.reserve(activity, [want(1)])

    const swept = await waitFor('the hold to run out', async () => (await ledger.sweep(activity, 10)).holds)
    const [late] = await ledger.confirm(activity, [`o${tokenId(1)}`])

    expect(swept).toBe(1)
    expect(late?.outcome).toBe(LEDGER_OUTCOME.wrongState)
    expect(await figures()).toMatchObject({ free: 10, held: 0, pool: 10, redeemed: 0 })
  })

  test('every change is told in the outbox, in order', async () => {
    await open()
    await ledger.reserve(activity, [want(1), want(2)])
    await ledger.confirm(activity, [`o${tokenId(1)}`])
    await ledger.cancel(activity, [`o${tokenId(2)}`])

    const entries = await ledger.readOutbox(activity, '0-0', 100)

    expect(entries.flatMap(({ orders }) => orders.map(({ uid, state, version }) => [uid, state, version]))).toEqual([
      [1, 'held', 1],
      [2, 'held', 1],
      [1, 'paid', 2],
      [2, 'cancelled', 2],
    ])
  })
})

describe('stock and quota', () => {
  test('stock never falls below held + sold, and a request counts once', async () => {
    await open()
    await ledger.reserve(activity, [want(1), want(2)])
    const set = (requestId: string, units: number) => ledger.restock(activity, 1, { requestId, op: 'set', units })

    expect(await set('a', 1)).toEqual({ outcome: 'refused', stock: 10 })
    expect(await set('b', 2)).toEqual({ outcome: 'done', stock: 2 })
    expect(await set('b', 50)).toEqual({ outcome: 'repeated', stock: 2 })
    expect(await ledger.restock(activity, 1, { requestId: 'c', op: 'add', units: 5 })).toEqual({
      outcome: 'done',
      stock: 7,
    })
    expect(checkInvariants((await figures()) ?? NO_FIGURES)).toEqual([])
  })

  test('a node grants only what it has leased, and a grant is written once', async () => {
    await open()
    const who = await owner('m1')
    const grant = (n: number) => ({ ...want(n), slot: slotOf(n) })
    await log.lease(who, [{ skuId: 1, want: 2, giveBack: 0, pacePerSecond: null }])

    const granted = await log.grant(who, [grant(1), grant(2), grant(3), grant(1)])

    expect(granted).toEqual(['written', 'written', 'placeless', 'written'])
    expect(await figures()).toMatchObject({ pool: 8, leased: 0, outstanding: 2 })
    const replayed = await log.replay(activity, [slotOf(1), slotOf(2), slotOf(3)])
    expect(replayed.map(({ grant: { uid }, state }) => [uid, state]).sort()).toEqual([
      [1, 'outstanding'],
      [2, 'outstanding'],
    ])
  })

  test('an older process of the same node is refused, and its lease goes back', async () => {
    await open()
    const old = await owner('m1')
    await log.lease(old, [{ skuId: 1, want: 5, giveBack: 0, pacePerSecond: null }])
    await log.claim(activity, 'm1')

    await expect(log.grant(old, [{ ...want(1), slot: 1 }])).rejects.toMatchObject({ code: 'STALE_FENCE' })
    expect(await figures()).toMatchObject({ pool: 10, leased: 0 })
  })

  test('the pace that a dead node was charged for comes back with its places', async () => {
    await open([sku({ stock: 100 })])
    const slow = { skuId: 1, want: 1, giveBack: 0, pacePerSecond: 1 }
    const [first, second] = [await owner('m1'), await owner('m2')]
    const held = async (who: Claimant) => (await log.lease(who, [slow])).get(1)?.held

    expect(await held(first)).toBe(1)
    expect(await held(second)).toBe(0)
    await log.claim(activity, 'm1')

    expect(await held(second)).toBe(1)
    expect(await held(second)).toBe(1)
  })

  test('more than its share a node takes only where the bucket is half full', async () => {
    await open([sku({ stock: 10_000 })])
    const who = await owner('m1')
    const ask = (want: number, more: number) =>
      log.lease(who, [{ skuId: 1, want, more, giveBack: 0, pacePerSecond: 2 }])

    expect((await ask(0, 5)).get(1)?.held).toBe(0)
    expect((await ask(1, 5)).get(1)?.held).toBe(1)
  })

  test('a node hears what the buyers of all nodes want', async () => {
    await open([sku({ stock: 10_000 })])
    const wish = { skuId: 1, want: 0, giveBack: 0, pacePerSecond: 100 }
    await log.lease(await owner('m1'), [{ ...wish, demandMs: 600 }])

    const heard = (await log.lease(await owner('m2'), [{ ...wish, demandMs: 200 }])).get(1)

    expect(heard?.demand).toBeGreaterThan(1)
    expect(heard?.demand).toBeLessThanOrEqual(4)
  })

  test('leases of a node that is gone come back to the pool', async () => {
    await open()
    const who = await owner('m1')
    await log.lease(who, [{ skuId: 1, want: 5, giveBack: 0, pacePerSecond: null }])

    await waitFor('the lease to run out', async () => (await ledger.sweep(activity, 10)).leases, 4_000)

    expect(await figures()).toMatchObject({ pool: 10, leased: 0 })
  })

  test('a token that is never redeemed gives its place back, and only after the cart would take it no more', async () => {
    await open()
    const who = await owner('m1')
    await log.lease(who, [{ skuId: 1, want: 1, giveBack: 1, pacePerSecond: null }])
    const expiresAt = Date.now() + 100
    await log.grant(who, [{ ...want(1, { expiresAt }), slot: slotOf(1) }])
    const pool = (await figures())?.pool

    const swept = await waitFor('the token to die', async () => (await ledger.sweep(activity, 10)).tokens, 5_000)

    expect(swept).toBe(1)
    expect(Date.now() - expiresAt).toBeGreaterThanOrEqual(TOKEN_GRACE_MS)
    expect(pool).toBe(9)
    expect(await figures()).toMatchObject({ pool: 10, leased: 0, outstanding: 0, deadTotal: 1 })
  })

  test('an entry of the outbox that was not carried is never trimmed, however many there are', async () => {
    await open()
    const { redis: client } = store
    const key = `${rootKey(activity)}outbox`
    for (let entry = 1; entry <= 10_500; entry += 500) {
      const pipeline = client.pipeline()
      for (let n = entry; n < entry + 500; n++) pipeline.xadd(key, `${n}-0`, 'e', 'x')
      await pipeline.exec()
    }

    await ledger.ackOutbox(activity, '200-0')
    const [first] = await client.xrange(key, '-', '+', 'COUNT', 1)
    await ledger.ackOutbox(activity, '9000-0')
    const [later] = await client.xrange(key, '-', '+', 'COUNT', 1)

    expect(Number.parseInt(first?.[0] ?? '', 10)).toBeLessThanOrEqual(201)
    expect(Number.parseInt(later?.[0] ?? '', 10)).toBeGreaterThan(400)
    expect(await client.xlen(key)).toBeGreaterThanOrEqual(10_000)
  })

  test('the pace holds over nodes: no more than the pace and one chunk', async () => {
    await open([sku({ stock: 10_000 })])
    const nodes = await Promise.all(
      ['m1', 'm2'].map(async (nodeId) => ({ activityId: activity, nodeId, fence: await log.claim(activity, nodeId) })),
    )
    const startedAt = Date.now()
    let rounds = 0
    while (Date.now() - startedAt < 1_000) {
      for (const who of nodes) await log.lease(who, [{ skuId: 1, want: 500, giveBack: 0, pacePerSecond: 1_000 }])
      rounds++
    }
    const elapsed = (Date.now() - startedAt) / 1000

    const leased = (await figures())?.leased ?? 0
    expect(rounds).toBeGreaterThan(5)
    expect(leased).toBeLessThanOrEqual(1_000 * elapsed + 100 + 5)
    expect(leased).toBeGreaterThan(1_000 * elapsed * 0.9)
  })
})

test('whatever is done in whatever order, the invariants hold after every step', async () => {
  await open([sku({ stock: 20, limitPerBuyer: 2, holdSeconds: 0.02 }), sku({ skuId: 2, stock: 5 })])
  const random = new SeededRandom(42)
  const pick = (count: number) => Math.floor(random.next() * count)
  let { fence } = await owner('m1')
  for (let step = 0; step < 600; step++) {
    const n = 1 + pick(40)
    const skuId = 1 + pick(2)
    const uid = 1 + (n % 7)
    const who = { activityId: activity, nodeId: 'm1', fence }
    const verbs = [
      () => ledger.reserve(activity, [want(n, { skuId, uid }), want(n + 1, { skuId, uid, quantity: 1 + pick(2) })]),
      () => ledger.confirm(activity, [`o${tokenId(n)}`]),
      () => ledger.cancel(activity, [`o${tokenId(n)}`, `o${tokenId(n + 1)}`]),
      () => ledger.sweep(activity, 5),
      () => ledger.restock(activity, skuId, { requestId: `r${step}`, op: 'set', units: pick(30) }),
      () => log.lease(who, [{ skuId, want: pick(5), giveBack: pick(3), pacePerSecond: null }]),
      () => log.grant(who, [{ ...want(n, { skuId, uid, expiresAt: Date.now() + pick(50) }), slot: slotOf(uid) }]),
      async () => {
        fence = await log.claim(activity, 'm1')
      },
      async () => {
        await ledger.beginRebuild(activity)
        await ledger.endRebuild(activity, 2 + step)
      },
    ]
    await verbs[pick(verbs.length)]?.()
    await expectInvariants(`step ${step}`, { 1: 2, 2: 1 })
  }
})

/** Invariants 1, 3 and 5, and the figures against the orders themselves. */
async function expectInvariants(step: string, limits: Record<number, number>) {
  const { orders } = await ledger.scanOrders(activity, 0)
  const units = (state: string, skuId: number) =>
    orders.filter((one) => one.state === state && one.skuId === skuId).reduce((sum, one) => sum + one.quantity, 0)
  for (const [skuId, figure] of await ledger.figures(activity)) {
    expect(checkInvariants(figure), `${step}, sku ${skuId}`).toEqual([])
    expect([figure.held, figure.sold], step).toEqual([units('held', skuId), units('paid', skuId)])
    for (const uid of new Set(orders.map((one) => one.uid))) {
      const own = orders.filter((one) => one.uid === uid && one.skuId === skuId)
      const has = own
        .filter(({ state }) => state === 'held' || state === 'paid')
        .reduce((sum, o) => sum + o.quantity, 0)
      expect(has, `${step}, buyer ${uid}`).toBeLessThanOrEqual(limits[skuId] ?? 0)
      expect(await log.units(activity, [{ uid, skuId }]), step).toEqual([has])
    }
  }
}

describe('ownership of slots', () => {
  const slot = slotOf(7)
  const grant = (n: number) => ({ ...want(n, { uid: 7 }), slot })
  const places = [{ skuId: 1, want: 3, giveBack: 0, pacePerSecond: null }]

  test('the old owner writes nothing once the new one has claimed, and the new one sees all from before', async () => {
    await open()
    const before = await owner('m1')
    await log.lease(before, places)
    await log.grant(before, [grant(1)])
    const after = await owner('m2', 2)
    await log.lease(after, places)

    expect(await log.grant(before, [grant(2)])).toEqual(['foreign'])
    expect(await log.adopt(before, [grant(2)])).toEqual(['foreign'])
    expect((await log.replay(activity, [slot])).map((found) => found.grant.tokenId)).toEqual([tokenId(1)])
    expect(await log.grant(after, [grant(3)])).toEqual(['written'])
    expect(await figures()).toMatchObject({ outstanding: 2, leased: 4, pool: 4 })
  })

  test('a write that is repeated after the slot has moved still says that it stands', async () => {
    await open()
    const before = await owner('m1')
    await log.lease(before, places)
    await log.grant(before, [grant(1)])
    await owner('m2', 2)

    expect(await log.grant(before, [grant(1)])).toEqual(['written'])
    expect(await figures()).toMatchObject({ outstanding: 1 })
  })

  test('an older table, or another one of the same epoch, takes nothing back', async () => {
    await open()
    const before = await owner('m1', 4)
    await owner('m2', 5)

    expect(await log.claimSlots(before, [slot], 4)).toEqual(['refused'])
    expect(await log.claimSlots(before, [slot], 5)).toEqual(['refused'])
    expect(await log.claimSlots(before, [slot, 0], 6)).toEqual(['taken', 'taken'])
  })

  test('a process that has owned a slot all the while keeps it; a new one of the same name must replay', async () => {
    await open()
    const first = await owner('m1')
    expect(await log.claimSlots(first, [slot], 2)).toEqual(['kept'])

    const again = { ...first, fence: await log.claim(activity, 'm1') }
    expect(await log.claimSlots(again, [slot], 2, first.fence)).toEqual(['kept'])
    await expect(log.claimSlots(first, [slot], 3)).rejects.toMatchObject({ code: 'STALE_FENCE' })

    const restarted = { ...first, fence: await log.claim(activity, 'm1') }
    expect(await log.claimSlots(restarted, [slot], 1)).toEqual(['taken'])
    const other = { ...first, nodeId: 'm2', fence: await log.claim(activity, 'm2') }
    expect(await log.claimSlots(other, [slot], 2)).toEqual(['refused']) // the older table lowered nothing
  })

  test('a slot that nobody has claimed takes no grant', async () => {
    await open()
    const who = { activityId: activity, nodeId: 'm1', fence: await log.claim(activity, 'm1') }
    await log.lease(who, places)

    expect(await log.grant(who, [grant(1)])).toEqual(['foreign'])
    expect(await log.claimSlots(who, [], 1)).toEqual([])
  })
})

describe('rebuild', () => {
  const order = (n: number, change: Partial<LedgerOrder> = {}): LedgerOrder => ({
    ...{ orderId: `o${tokenId(n)}`, state: 'held', skuId: 1, uid: n, quantity: 1, priceCents: 100 },
    ...{ version: 1, seq: n, createdAt: 1, payBy: Date.now() + 60_000, updatedAt: 1, ...change },
  })

  test('orders come back although all places are leased or granted to others', async () => {
    await open([sku({ stock: 2 })])
    const who = await owner('m1')
    await log.lease(who, [{ skuId: 1, want: 2, giveBack: 0, pacePerSecond: null }])
    await log.grant(who, [{ ...want(9), slot: slotOf(9) }])

    await ledger.beginRebuild(activity)
    const adopted = await ledger.adopt(activity, [order(1), order(2, { state: 'paid' })], false)
    await ledger.endRebuild(activity, 2)
    const [late] = await ledger.reserve(activity, [want(9)])

    expect(adopted).toMatchObject({ adopted: 2, conflicts: [] })
    expect(late?.outcome).toBe(LEDGER_OUTCOME.soldOut)
    expect(await figures()).toMatchObject({ free: 0, held: 1, sold: 1 })
    expect(checkInvariants((await figures()) ?? NO_FIGURES)).toEqual([])
  })

  test('states move forward only, and an order that finds no unit is named', async () => {
    await open([sku({ stock: 1 })])
    await ledger.reserve(activity, [want(1)])
    await ledger.confirm(activity, [`o${tokenId(1)}`])

    await ledger.beginRebuild(activity)
    const result = await ledger.adopt(activity, [order(1), order(1, { state: 'expired', version: 9 }), order(2)], false)

    expect(result).toMatchObject({ adopted: 0, known: 2, moved: 0 })
    expect(result.conflicts.map(({ uid }) => uid)).toEqual([2])
    expect(await figures()).toMatchObject({ free: 0, held: 0, sold: 1 })
  })

  test('a ledger that is emptied during its rebuild is not opened', async () => {
    await open()
    await ledger.beginRebuild(activity)
    await store.redis.flushall()

    await expect(ledger.endRebuild(activity, 2)).rejects.toMatchObject({ code: 'STALE_GUARD' })
    await expect(ledger.reserve(activity, [want(1)])).rejects.toMatchObject({ code: 'LEDGER_UNKNOWN' })
  })

  test('the fence of a node grows even when Redis has forgotten the one before', async () => {
    await open()
    const before = await log.claim(activity, 'm1')
    await store.redis.flushall()
    await ledger.open(activity, 'unlimited', [sku()])

    expect(await log.claim(activity, 'm1')).toBeGreaterThanOrEqual(before)
    expect(await log.claim(activity, 'm1')).toBeGreaterThan(before)
  })
})

test('a stale guard is refused, and a ledger that Redis lost is unknown', async () => {
  await open()
  await ledger.reserve(activity, [want(1)])
  await ledger.beginRebuild(activity)
  await expect(ledger.reserve(activity, [want(2)])).rejects.toMatchObject({ code: 'LEDGER_IN_DOUBT' })
  await ledger.endRebuild(activity, 2)
  expect((await ledger.reserve(activity, [want(2)]))[0]?.outcome).toBe(LEDGER_OUTCOME.ok)

  await store.redis.flushall()
  await expect(ledger.reserve(activity, [want(3)])).rejects.toMatchObject({ code: 'STALE_GUARD' })
  await expect(ledger.reserve(activity, [want(3)])).rejects.toMatchObject({ code: 'LEDGER_UNKNOWN' })
})
