import { nullLogger } from '@bigtap/kernel'
import type { DocumentChange } from '@bigtap/store'
import { expect, test } from 'vitest'
import { CatalogPublisher } from './catalog-publisher.ts'

/** The catalog of the tests: a map that can be away, and emptied. */
class MemoryCatalog {
  docs = new Map<string, { revision: number; body: unknown }>()
  now = 0
  isAway = false

  async publish(changes: readonly DocumentChange[]): Promise<number> {
    if (this.isAway) throw new Error('away')
    this.now++
    for (const { key, body } of changes) this.docs.set(key, { revision: this.now, body })
    return this.now
  }

  async revision(): Promise<number> {
    return this.now
  }

  async readSince(revision: number) {
    return [...this.docs].map(([key, doc]) => ({ key, ...doc })).filter((doc) => doc.revision > revision)
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
  const publisher = new CatalogPublisher({
    ...{ catalog, logger: nullLogger, allDocuments: () => wanted },
    onPublished: (revision, keys) => published.push([revision, keys]),
  })
  return { catalog, publisher, published, wanted }
}

test('what is queued together goes out as one revision, the newest of each key', async () => {
  const { catalog, publisher, published } = setUp()
  await publisher.prime()
  publisher.queue([{ key: 'activity:1', body: { v: 1 } }])
  publisher.queue([
    { key: 'activity:1', body: { v: 2 } },
    { key: 'sku:1:1', body: {} },
  ])
  await publisher.flush()
  expect(published).toEqual([[1, ['activity:1', 'sku:1:1']]])
  expect(catalog.docs.get('activity:1')?.body).toEqual({ v: 2 })
})

test('nothing goes out before Redis was compared with what is wanted', async () => {
  const { catalog, publisher } = setUp()
  publisher.queue([{ key: 'activity:1', body: {} }])
  await publisher.flush()
  expect(catalog.docs.size).toBe(0)
  expect(publisher.isSettled).toBe(false)
})

test('what cannot go out waits, and a newer one takes its place', async () => {
  const { catalog, publisher } = setUp()
  await publisher.prime()
  catalog.isAway = true
  publisher.queue([{ key: 'activity:1', body: { v: 1 } }])
  await expect(publisher.flush()).rejects.toThrow('away')
  publisher.queue([{ key: 'activity:1', body: { v: 2 } }])
  catalog.isAway = false
  await publisher.flush()
  expect(catalog.docs.get('activity:1')?.body).toEqual({ v: 2 })
})

test('at start only what differs is published, strays go, and the status of a known SKU stays', async () => {
  const { catalog, publisher, published, wanted } = setUp()
  wanted.push({ key: 'sku:1:1', body: { b: 1, a: 2 } }, { key: 'activity:1', body: { v: 2 } })
  await catalog.publish([
    { key: 'sku:1:1', body: { a: 2, b: 1 } },
    { key: 'activity:1', body: { v: 1 } },
    { key: 'status:1:1', body: {} },
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
  expect(catalog.docs.get('status:1:1')?.body).toEqual({})
})

test('an emptied catalog gets everything again, above the last revision', async () => {
  const { catalog, publisher, wanted } = setUp()
  wanted.push({ key: 'activity:1', body: {} })
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
  wanted.push({ key: 'activity:1', body: {} })
  publisher.recall(50)
  await publisher.prime()
  await publisher.flush()
  catalog.empty()
  publisher.queue([{ key: 'status:1:1', body: {} }])
  await publisher.flush()
  expect([...catalog.docs.keys()].sort()).toEqual(['activity:1', 'status:1:1'])
  expect(Math.min(...[...catalog.docs.values()].map(({ revision }) => revision))).toBeGreaterThan(51)
})

test('a question that crosses a publication is no emptied catalog', async () => {
  const { catalog, publisher } = setUp()
  await publisher.prime()
  for (let round = 1; round <= 20; round++) {
    publisher.queue([{ key: 'activity:1', body: { round } }])
    await Promise.all([publisher.flush(), publisher.reconcile()])
  }
  expect(catalog.now).toBe(20)
})
