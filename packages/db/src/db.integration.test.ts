import { DEFAULT_WAITING, NO_CHALLENGE } from '@bigtap/domain'
import { type Engine, FakeClock, freePort, startPostgres, waitFor } from '@bigtap/testkit'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDb, type Db, DbError, migrate, type NewActivity, type NewSku, type OrderRow } from './index.ts'

const clock = new FakeClock()
let postgres: Engine
let db: Db

beforeAll(async () => {
  postgres = await startPostgres()
  await migrate(postgres.url)
  db = createDb({ url: postgres.url }, { clock })
})

afterAll(async () => {
  await db?.close()
  await postgres?.stop()
})

let lastId = 0
function order(fields: Partial<OrderRow> = {}): OrderRow {
  const tokenId = (++lastId).toString(16).padStart(32, '0')
  return {
    ...{
      orderId: `o${tokenId}`,
      tokenId,
      activityId: 1,
      skuId: 1,
      uid: 7,
      quantity: 1,
      priceCents: 19_900,
      currency: 'EUR',
    },
    ...{ state: 'held', version: 1, seq: lastId, createdAt: 1_000, payBy: 2_000, updatedAt: 1_000 },
    ...fields,
  }
}

const activity: NewActivity = {
  title: 'Launch',
  opensAt: 1_000,
  closesAt: 9_000,
  rule: 'once-per-product',
  admission: 'direct',
  waiting: DEFAULT_WAITING,
  challenge: NO_CHALLENGE,
  reservation: { required: true, opensAt: 10, closesAt: 20 },
  accessLimits: [{ scope: 'uid', algorithm: 'token-bucket', seconds: 1, maxCount: 2, burst: 4 }],
}

const sku: NewSku = {
  ...{ title: 'Phone', priceCents: 19_900, currency: 'EUR', imageUrl: '', stock: 500, limitPerBuyer: 1, paused: false },
  policy: {
    ...{ pacePerSecond: null, taperAt: 0.1, taperPacePerSecond: null, trickleAt: 0 },
    ...{ overbook: 1, holdSeconds: 900, tokenSeconds: 60 },
  },
}

test('an order is stored once and read back as it was', async () => {
  const row = order({ uid: Number.MAX_SAFE_INTEGER, createdAt: 1_800_000_000_123 })

  const stored = await db.orders.upsertMany([row])
  const again = await db.orders.upsertMany([row])

  expect([stored, again]).toEqual([1, 0])
  expect(await db.orders.get(row.orderId)).toEqual(row)
  expect(await db.orders.listByUid(Number.MAX_SAFE_INTEGER)).toEqual([row])
  expect(await db.orders.get('o-unknown')).toBeUndefined()
})

test('an older event never replaces a newer one, in one batch or in two', async () => {
  const held = order()
  const paid: OrderRow = { ...held, state: 'paid', version: 2, updatedAt: 1_500 }

  expect(await db.orders.upsertMany([paid, held])).toBe(1)
  expect(await db.orders.upsertMany([held])).toBe(0)
  expect(await db.orders.get(held.orderId)).toMatchObject({ state: 'paid', version: 2, createdAt: 1_000 })
})

test('fifty consumers that store the same orders in any order leave one row of the newest version each', async () => {
  const rows = Array.from({ length: 200 }, () => order({ activityId: 50 }))
  const newest = rows.map((row): OrderRow => ({ ...row, state: 'expired', version: 2 }))
  const shuffled = (all: OrderRow[], by: number) => all.map((_, at) => all[(at * 7 + by) % all.length] as OrderRow)

  const counts = await Promise.all(
    Array.from({ length: 50 }, (_, by) => db.orders.upsertMany(shuffled(by % 2 ? rows : newest, by))),
  )

  expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(400)
  expect(await db.orders.countsBySku(50)).toMatchObject([{ skuId: 1, orders: 200, held: 0, expired: 200 }])
})

test('orders are counted by SKU and state, in orders and in units', async () => {
  await db.orders.upsertMany([
    ...[
      order({ activityId: 3, skuId: 1, quantity: 2 }),
      order({ activityId: 3, skuId: 1, state: 'paid', quantity: 3 }),
    ],
    ...[order({ activityId: 3, skuId: 2, state: 'refund_pending', seq: 9_000 })],
  ])

  const counts = await db.orders.countsBySku(3)

  const none = { held: 0, paid: 0, expired: 0, cancelled: 0, refundPending: 0, refunded: 0 }
  expect(counts).toEqual([
    { skuId: 1, orders: 2, ...none, held: 1, paid: 1, units: { ...none, held: 2, paid: 3 } },
    { skuId: 2, orders: 1, ...none, refundPending: 1, units: { ...none, refundPending: 1 } },
  ])
  expect(await db.orders.maxSeq(3)).toBe(9_000)
  expect((await db.orders.seqs(3)).length).toBe(3)
  expect(await db.orders.maxSeq(404)).toBe(0)
})

test('an activity is read page by page', async () => {
  const rows = Array.from({ length: 7 }, () => order({ activityId: 4 }))
  await db.orders.upsertMany(rows)

  const seen: OrderRow[] = []
  for (let after = ''; ; after = seen.at(-1)?.orderId ?? '') {
    const page = await db.orders.listByActivity(4, { after, limit: 3 })
    seen.push(...page)
    if (page.length < 3) break
  }

  expect(seen).toEqual(rows)
})

test('an order changes its state only from where it may', async () => {
  const row = order({ activityId: 5, state: 'expired', version: 2 })
  await db.orders.upsertMany([row])
  clock.advance(500)

  const changes = await Promise.all(
    Array.from({ length: 10 }, () => db.orders.setState(row.orderId, { from: ['expired'], to: 'refund_pending' })),
  )

  expect(changes.filter((change) => change !== undefined)).toMatchObject([{ state: 'refund_pending', version: 3 }])
  expect(
    await db.orders.setState(row.orderId, { from: ['refund_pending'], to: 'refunded', version: 2 }),
  ).toBeUndefined()
  expect((await db.orders.get(row.orderId))?.updatedAt).toBe(clock.now())
  expect(await db.orders.listByState('refund_pending')).toContainEqual(await db.orders.get(row.orderId))
})

test('a row that no table can hold is rejected for good, and nothing of its statement is stored', async () => {
  const good = order({ activityId: 6 })
  const bad = [
    { ...order(), quantity: 0 },
    { ...order(), uid: Number.NaN },
    { ...order(), uid: 1.5 },
    { ...order(), state: 'unheard of' as OrderRow['state'] },
    { ...order(), orderId: 'o\0' },
    { ...order(), activityId: 2 ** 40 },
  ]

  for (const row of bad) {
    const refused = await db.orders.upsertMany([good, row]).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(DbError)
    expect(refused).toMatchObject({ code: 'DB_REJECTED', isRetriable: false })
  }
  expect(await db.orders.get(good.orderId)).toBeUndefined()
})

test('the same callback fifty times in parallel is recorded once', async () => {
  const event = { eventId: 'e1', paymentId: 'p1', orderId: 'o1', type: 'paid', amountCents: 19_900 }

  const receipts = await Promise.all(Array.from({ length: 50 }, () => db.payments.recordEvent(event)))

  expect(receipts.filter(({ outcome }) => outcome === 'first')).toHaveLength(1)
  expect(await db.payments.settleEvent('e1', 'paid')).toBe('paid')
  expect(await db.payments.settleEvent('e1', 'other')).toBe('paid')
  expect(await db.payments.recordEvent({ ...event, amountCents: 1 })).toEqual({
    outcome: 'seen',
    result: 'paid',
    event,
  })
})

test('a payment is created once and moves on once', async () => {
  const made = await Promise.all(
    Array.from({ length: 5 }, () => db.payments.create({ paymentId: 'p9', orderId: 'o9', amountCents: 5 })),
  )

  const moved = [
    await db.payments.setState('p9', ['created'], 'paid'),
    await db.payments.setState('p9', ['created'], 'failed'),
  ]

  expect(new Set(made.map(({ createdAt }) => createdAt)).size).toBe(1)
  expect(moved).toEqual([true, false])
  expect(await db.payments.get('p9')).toMatchObject({ orderId: 'o9', amountCents: 5, state: 'paid' })
  expect(await db.payments.listByOrder('o9')).toHaveLength(1)
  expect(await db.payments.get('none')).toBeUndefined()
})

test('a dead letter is kept once for each place of the log, whatever is in it', async () => {
  const letter = {
    ...{ topic: 'orders', partition: 2, position: '17-0', key: 'k\0\ud800', error: 'bad \0'.repeat(1_000), tries: 3 },
    value: new Uint8Array([0, 255, 128]),
  }

  await db.deadLetters.add(letter)
  await db.deadLetters.add(letter)

  expect(await db.deadLetters.count()).toBe(1)
  const [kept] = await db.deadLetters.list()
  expect(kept).toMatchObject({ topic: 'orders', partition: 2, position: '17-0', tries: 3 })
  expect(Buffer.from(kept?.value ?? []).toString('hex')).toBe('00ff80')
  expect(await db.deadLetters.list({ before: kept?.id ?? 0 })).toEqual([])
})

test('an activity and its SKUs are defined, changed under a guard, and deleted as a draft only', async () => {
  const { id } = await db.definitions.createActivity(activity)
  const made = await db.definitions.createSku(id, sku, { states: ['draft'] })
  const skuId = made?.id ?? 0

  expect(await db.definitions.getActivity(id)).toMatchObject({
    ...activity,
    id,
    state: 'draft',
    skuIds: [skuId],
    version: 1,
  })
  expect(await db.definitions.listSkus(id)).toMatchObject([{ ...sku, id: skuId, activityId: id }])
  const patched = await db.definitions.patchActivity(id, { title: 'Later' }, { version: 1, states: ['draft'] })
  expect(patched).toMatchObject({ title: 'Later', rule: activity.rule, version: 2 })
  expect(await db.definitions.patchActivity(id, { title: 'Lost' }, { version: 1 })).toBeUndefined()
  expect(await db.definitions.patchSku(id, skuId, { stock: 600 }, { states: ['draft'] })).toMatchObject({ stock: 600 })

  const scheduled = await db.definitions.setActivityState(id, ['draft'], 'scheduled', 42)
  expect(scheduled).toMatchObject({ state: 'scheduled', revision: 42 })
  expect(await db.definitions.setActivityState(id, ['draft'], 'scheduled')).toBeUndefined()
  expect(await db.definitions.patchSku(id, skuId, { stock: 1 }, { states: ['draft'] })).toBeUndefined()
  expect(await db.definitions.createSku(id, sku, { states: ['draft'] })).toBeUndefined()
  expect(await db.definitions.deleteSku(id, skuId)).toBe('forbidden')
  expect(await db.definitions.deleteActivity(id)).toBe('forbidden')

  await db.definitions.setActivityState(id, ['scheduled'], 'draft')
  expect(await db.definitions.deleteSku(id, 999_999)).toBe('missing')
  expect(await db.definitions.deleteActivity(id)).toBe('deleted')
  expect(await db.definitions.deleteActivity(id)).toBe('missing')
  expect(await db.definitions.getSku(id, skuId)).toBeUndefined()
})

test('settings and audit entries are kept', async () => {
  await db.definitions.setSetting('revision', { last: 1 })
  await db.definitions.setSetting('revision', { last: 2 })
  await db.audit.append({
    actor: 'operator',
    role: 'operator',
    action: 'create',
    subject: 'activity:1',
    after: { title: 'x' },
  })
  await db.audit.append({
    actor: 'operator',
    role: 'operator',
    action: 'delete',
    subject: 'activity:1',
    before: { title: 'x' },
  })

  expect(await db.definitions.getSetting('revision')).toEqual({ last: 2 })
  expect(await db.definitions.getSetting('nothing')).toBeUndefined()
  expect(await db.audit.list({ subject: 'activity:1', limit: 1 })).toMatchObject([
    { action: 'delete', before: { title: 'x' }, after: null, at: clock.now() },
  ])
})

test('all columns that the client knows are in the database', async () => {
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  const known = "SELECT count(*)::int AS count FROM information_schema.columns WHERE table_schema = 'public'"
  const { rows } = await client.query(`${known} AND table_name NOT LIKE '\\_prisma%'`)
  await client.end()

  // Each model was read and written above with all its columns; this one says that the migrations made no others.
  expect(rows[0].count).toBe(14 + 6 + 7 + 9 + 17 + 14 + 3 + 8 + 8 + 6)
})

test('thousands of orders are stored in batches, each once (the speed stands in bench orders)', async () => {
  const rows = Array.from({ length: 5_000 }, (_, at) => order({ activityId: 8, uid: at + 1 }))

  let stored = 0
  for (let at = 0; at < rows.length; at += 500) stored += await db.orders.upsertMany(rows.slice(at, at + 500))

  expect(stored).toBe(5_000)
  expect((await db.orders.countsBySku(8)).reduce((sum, { orders }) => sum + orders, 0)).toBe(5_000)
})

test('without a server every call says so within its time, as something to be tried again', async () => {
  const absent = createDb({ url: `postgresql://a:b@127.0.0.1:${await freePort()}/c`, connectMs: 500 })

  const refused = await Promise.allSettled([
    absent.ping(),
    absent.orders.upsertMany([order()]),
    absent.orders.get('o1'),
    absent.payments.recordEvent({ eventId: 'e', paymentId: 'p', orderId: 'o', type: 'paid', amountCents: 1 }),
    absent.definitions.getActivity(1),
  ])
  await absent.close()

  for (const result of refused) {
    expect(result).toMatchObject({ status: 'rejected', reason: { code: 'DB_UNAVAILABLE', isRetriable: true } })
  }
})

test('after the server was killed and has come back, the same repositories go on', async () => {
  const dead = await startPostgres()
  const url = dead.url
  await migrate(url)
  const survivor = createDb({ url, connectMs: 5_000 })
  await survivor.orders.upsertMany([order()])
  await dead.kill()
  // The backend of a connection outlives its postmaster for a moment.
  const last = order()
  await waitFor('the server to be gone', () =>
    survivor.orders.upsertMany([last]).then(
      () => false,
      () => true,
    ),
  )
  await expect(survivor.orders.upsertMany([last])).rejects.toMatchObject({ code: 'DB_UNAVAILABLE' })
  await expect(survivor.orders.get('o1')).rejects.toMatchObject({ code: 'DB_UNAVAILABLE' })

  const back = await startPostgres({ dir: dead.dir, port: dead.port })

  // A connection that died with the old server may be handed out once more before it is thrown away.
  const row = order()
  await waitFor('the row to be stored', () => survivor.orders.upsertMany([row]).catch(() => 0))
  const orders = (await survivor.orders.countsBySku(1))[0]?.orders
  expect([2, 3]).toContain(orders) // the last one before the end may have been stored
  await survivor.close()
  await back.stop()
})
