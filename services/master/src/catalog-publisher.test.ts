import {
  type ActivityDoc,
  DEFAULT_POLICY,
  DEFAULT_WAITING,
  NO_CHALLENGE,
  NO_RESERVATION,
  type SkuDoc,
  type StatusDoc,
} from '@bigtap/domain'
import { CodedError, nullLogger } from '@bigtap/kernel'
import type { DocumentChange } from '@bigtap/store'
import { expect, test } from 'vitest'
import { CatalogPublisher } from './catalog-publisher.ts'

const activity = (title: string, more: Partial<ActivityDoc> = {}): ActivityDoc => ({
  ...{
    id: 1,
    title,
    state: 'open',
    stage: 'middle',
    opensAt: 1,
    closesAt: 2,
    rule: 'unlimited',
    admission: 'direct',
    waiting: DEFAULT_WAITING,
    challenge: NO_CHALLENGE,
  },
  ...{ reservation: NO_RESERVATION, skuIds: [1], accessLimits: [] },
  ...more,
})
const sku: SkuDoc = {
  ...{ id: 1, activityId: 1, title: 'Black', priceCents: 1, currency: 'EUR', imageUrl: '', stock: 5, limitPerBuyer: 1 },
  ...{ policy: DEFAULT_POLICY, paused: false },
}
const status: StatusDoc = {
  ...{ activityId: 1, skuId: 1, soldOut: false, exhausted: false, free: 1, held: 0, sold: 4, at: 1 },
}

/** The catalog of the tests: a map that can be away, and emptied. */
class MemoryCatalog {
  docs = new Map<string, { revision: number; body: unknown }>()
  now = 0
  isAway = false
  epoch = 0

  async publish(changes: readonly DocumentChange[], { epoch = 0 }: { epoch?: number } = {}): Promise<number> {
    if (this.isAway) throw new Error('away')
    if (epoch < this.epoch) throw new CodedError({ code: 'STALE_EPOCH', message: `${epoch}` })
    this.epoch = epoch
    if (changes.length === 0) return this.now
    this.now++
    for (const { key, body } of changes) this.docs.set(key, { revision: this.now, body })
    return this.now
  }

  async revision(): Promise<number> {
    return this.now
  }

  async readSince(revision: number) {
    return [...this.docs]
      .map(([key, doc]) => ({ key, hash: 0, bytes: 0, ...doc }))
      .filter((doc) => doc.revision > revision)
  }

  async ensureAbove(revision: number): Promise<void> {
    this.now = Math.max(this.now, revision)
  }

  empty(): void {
    this.docs.clear()
    this.now = 0
  }
}

function setUp(wanted: DocumentChange[] = []) {
  const catalog = new MemoryCatalog()
  const published: [number, readonly string[]][] = []
  const refused: string[] = []
  const publisher = new CatalogPublisher({
    ...{ catalog, logger: nullLogger, epoch: 1, mayAct: () => true, allDocuments: () => wanted },
    onPublished: (revision, changes) => published.push([revision, changes.map(({ key }) => key)]),
    onRefused: (key) => refused.push(key),
  })
  return { catalog, publisher, published, refused, wanted }
}

test('what is queued together goes out as one revision, the newest of each key', async () => {
  const { catalog, publisher, published } = setUp()
  await publisher.prime()
  publisher.queue([{ key: 'activity:1', body: activity('v1') }])
  publisher.queue([
    { key: 'activity:1', body: activity('v2') },
    { key: 'sku:1:1', body: sku },
  ])
  await publisher.flush()
  expect(published).toEqual([[1, ['activity:1', 'sku:1:1']]])
  expect(catalog.docs.get('activity:1')?.body).toEqual(activity('v2'))
})

test('nothing goes out before Redis was compared with what is wanted', async () => {
  const { catalog, publisher } = setUp()
  publisher.queue([{ key: 'activity:1', body: activity('v1') }])
  await publisher.flush()
  expect(catalog.docs.size).toBe(0)
  expect(publisher.isSettled).toBe(false)
})

test('what cannot go out waits, and a newer one takes its place', async () => {
  const { catalog, publisher } = setUp()
  await publisher.prime()
  catalog.isAway = true
  publisher.queue([{ key: 'activity:1', body: activity('v1') }])
  await expect(publisher.flush()).rejects.toThrow('away')
  publisher.queue([{ key: 'activity:1', body: activity('v2') }])
  catalog.isAway = false
  await publisher.flush()
  expect(catalog.docs.get('activity:1')?.body).toEqual(activity('v2'))
})

test('at start only what differs is published, strays go, and the status of a known SKU stays', async () => {
  const { catalog, publisher, published, wanted } = setUp()
  wanted.push({ key: 'sku:1:1', body: sku }, { key: 'activity:1', body: activity('v2') })
  await catalog.publish([
    { key: 'sku:1:1', body: Object.fromEntries(Object.entries(sku).reverse()) },
    { key: 'activity:1', body: activity('v1') },
    { key: 'status:1:1', body: status },
    { key: 'activity:9', body: {} },
    { key: 'status:9:9', body: {} },
  ])
  await publisher.prime()
  await publisher.flush()
  expect(published).toEqual([
    [1, ['sku:1:1']],
    [2, ['activity:1', 'activity:9', 'status:9:9']],
  ])
  expect(catalog.docs.get('activity:9')?.body).toBeNull()
  expect(catalog.docs.get('status:1:1')?.body).toEqual(status)
})

test('an emptied catalog gets everything again, above the last revision', async () => {
  const { catalog, publisher, wanted } = setUp()
  wanted.push({ key: 'activity:1', body: activity('v1') })
  await publisher.prime()
  await publisher.flush()
  const last = publisher.lastRevision
  catalog.empty()
  await publisher.reconcile()
  await publisher.flush()
  expect(catalog.docs.get('activity:1')?.revision).toBeGreaterThan(last)
})

test('a publication that finds the catalog emptied is noticed by its own revision', async () => {
  const { catalog, publisher, wanted } = setUp()
  wanted.push({ key: 'activity:1', body: activity('v1') })
  publisher.recall(50)
  await publisher.prime()
  await publisher.flush()
  catalog.empty()
  publisher.queue([{ key: 'status:1:1', body: status }])
  await publisher.flush()
  expect([...catalog.docs.keys()].sort()).toEqual(['activity:1', 'status:1:1'])
  expect(Math.min(...[...catalog.docs.values()].map(({ revision }) => revision))).toBeGreaterThan(51)
})

test('a question that crosses a publication is no emptied catalog', async () => {
  const { catalog, publisher } = setUp()
  await publisher.prime()
  for (let round = 1; round <= 20; round++) {
    publisher.queue([{ key: 'activity:1', body: activity(`v${round}`) }])
    await Promise.all([publisher.flush(), publisher.reconcile()])
  }
  expect(catalog.now).toBe(20)
})

test('what stops a sale goes out before everything else, as a revision of its own', async () => {
  const { publisher, published } = setUp([{ key: 'activity:1', body: activity('v1') }])
  await publisher.prime()
  await publisher.flush()

  publisher.queue([{ key: 'sku:1:1', body: sku }])
  publisher.queue([{ key: 'activity:1', body: activity('v1', { state: 'paused' }) }])
  publisher.queue([{ key: 'activity:1', body: activity('v2', { state: 'paused' }) }])
  await publisher.flush()

  expect(published.slice(1)).toEqual([
    [2, ['activity:1']],
    [3, ['sku:1:1']],
  ])
})

test.each([
  ['null fields', { ...activity('v2'), opensAt: null }],
  ['missing fields', { id: 1, title: 'v2' }],
  ['too much', { ...activity('v2'), more: 'x'.repeat(70_000) }],
  ['the ids of another', activity('v2', { id: 2 })],
  ['no object', 'v2'],
])('a document with %s changes nothing, and is said', async (_what, bad) => {
  const { catalog, publisher, refused } = setUp([{ key: 'activity:1', body: activity('v1') }])
  await publisher.prime()
  publisher.queue([{ key: 'activity:1', body: bad }])
  await publisher.flush()

  expect(catalog.docs.get('activity:1')?.body).toEqual(activity('v1'))
  expect(refused).toEqual(['activity:1'])
})

test('a leader that was deposed publishes nothing', async () => {
  const { catalog, publisher } = setUp()
  await publisher.prime()
  await catalog.publish([], { epoch: 2 })
  publisher.queue([{ key: 'activity:1', body: activity('v1') }])

  await expect(publisher.flush()).rejects.toMatchObject({ code: 'STALE_EPOCH' })

  expect(catalog.docs.size).toBe(0)
})
