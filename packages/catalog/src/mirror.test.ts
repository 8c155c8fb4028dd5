import {
  type ActivityDoc,
  activityKey,
  DEFAULT_WAITING,
  NO_CHALLENGE,
  NO_RESERVATION,
  type SlotTableDoc,
  skuKey,
  statusKey,
} from '@bigtap/domain'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import type { CatalogHead } from '@bigtap/store'
import { FakeClock } from '@bigtap/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import type { IncomingDocument } from './documents.ts'
import { Mirror } from './mirror.ts'

const ACTIVITY: ActivityDoc = {
  id: 7,
  title: 'Phone',
  state: 'open',
  stage: 'middle',
  opensAt: 1_000,
  closesAt: 2_000,
  rule: 'once-per-product',
  admission: 'direct',
  waiting: DEFAULT_WAITING,
  challenge: NO_CHALLENGE,
  reservation: NO_RESERVATION,
  skuIds: [1],
  accessLimits: [],
}
const SKU = { id: 1, activityId: 7, title: 'Black', priceCents: 100, currency: 'EUR', imageUrl: '', stock: 5 }
const STATUS = { activityId: 7, skuId: 1, soldOut: true, exhausted: true, free: 0, held: 0, sold: 5, at: 1_500 }
const SLOTS: SlotTableDoc = { epoch: 1, nodes: [{ id: 'm1', address: '127.0.0.1:8300' }], owners: Array(1024).fill(0) }

class MemoryFeed {
  newest = 0
  isDown = false
  docs: IncomingDocument[] = []

  publish(key: string, body: unknown): void {
    this.newest++
    this.docs = [...this.docs.filter((one) => one.key !== key), { key, revision: this.newest, body }]
  }

  async head(): Promise<CatalogHead> {
    if (this.isDown) throw new Error('no answer')
    return { revision: this.newest, digest: '', epoch: 0 }
  }

  async readSince(revision: number): Promise<IncomingDocument[]> {
    return this.docs.filter((one) => one.revision > revision)
  }
}

let feed: MemoryFeed
let mirror: Mirror
beforeEach(() => {
  feed = new MemoryFeed()
  const parts = { catalog: feed, logger: nullLogger, clock: new FakeClock(), metrics: nullMetrics }
  mirror = new Mirror({ service: 'test', pollMs: 200 }, parts)
  feed.publish(activityKey(7), ACTIVITY)
  feed.publish(skuKey(7, 1), SKU)
  feed.publish(statusKey(7, 1), STATUS)
  feed.publish('slots', SLOTS)
})

describe('a front follows the catalog', () => {
  test('every kind of document is applied', async () => {
    await mirror.pull()

    expect(mirror.revision).toBe(4)
    expect(mirror.activity(7)).toEqual(ACTIVITY)
    expect(mirror.sku(7, 1)).toMatchObject(SKU)
    expect(mirror.status(7, 1)).toEqual(STATUS)
    expect(mirror.slotTable()?.nodes[0]?.id).toBe('m1')
  })

  test('listeners hear which documents changed, once', async () => {
    const heard: string[][] = []
    mirror.onChange((keys) => heard.push([...keys]))

    await mirror.pull()
    await mirror.pull()
    feed.publish(statusKey(7, 1), { ...STATUS, soldOut: false })
    await mirror.pull()

    expect(heard).toEqual([['activity:7', 'sku:7:1', 'status:7:1', 'slots'], ['status:7:1']])
  })

  test('a bad document is refused whole, the last good one stays, a later good one heals it', async () => {
    await mirror.pull()
    feed.publish(activityKey(7), { ...ACTIVITY, title: 'New', opensAt: -1 })
    await mirror.pull()

    expect(mirror.activity(7)?.title).toBe('Phone')
    expect(mirror.refused.map((one) => one.key)).toEqual(['activity:7'])
    expect(mirror.revision).toBe(5)

    feed.publish(activityKey(7), { ...ACTIVITY, title: 'New' })
    await mirror.pull()

    expect(mirror.activity(7)?.title).toBe('New')
    expect(mirror.refused).toEqual([])
  })

  test.each([
    ['no JSON', undefined],
    ['an array', []],
    ['a document of another key', { ...ACTIVITY, id: 8 }],
  ])('%s is refused', async (_what, body) => {
    await mirror.pull()
    feed.publish(activityKey(7), body)
    await mirror.pull()

    expect(mirror.activity(7)).toEqual(ACTIVITY)
    expect(mirror.activity(8)).toBeUndefined()
    expect(mirror.refused).toHaveLength(1)
  })

  test('a kind that a newer version publishes is passed over', async () => {
    feed.publish('challenge:7', { any: 1 })
    await mirror.pull()

    expect(mirror.revision).toBe(5)
    expect(mirror.refused).toEqual([])
  })

  test('a slot table of an older epoch is passed over', async () => {
    feed.publish('slots', { ...SLOTS, epoch: 5 })
    await mirror.pull()
    feed.publish('slots', { ...SLOTS, epoch: 4 })
    await mirror.pull()

    expect(mirror.slotTable()?.epoch).toBe(5)
  })

  test('a deleted document is gone', async () => {
    await mirror.pull()
    feed.publish(skuKey(7, 1), null)
    feed.publish(activityKey(7), null)
    await mirror.pull()

    expect(mirror.sku(7, 1)).toBeUndefined()
    expect(mirror.activities().size).toBe(0)
  })

  test('an emptied Redis changes nothing; a catalog that begins anew is read whole', async () => {
    await mirror.pull()
    feed.newest = 0
    feed.docs = []
    await mirror.pull()
    expect(mirror.activity(7)).toEqual(ACTIVITY)

    feed.publish(activityKey(7), { ...ACTIVITY, state: 'paused' })
    await mirror.pull()

    expect(mirror.revision).toBe(1)
    expect(mirror.activity(7)?.state).toBe('paused')
    expect(mirror.slotTable()?.epoch).toBe(1)
  })

  test('two nodes that hold the same documents show one digest, in whatever order they came', async () => {
    await mirror.pull()
    const before = mirror.digest
    feed.publish(statusKey(7, 1), { ...STATUS, free: 1 })
    await mirror.pull()
    const changed = mirror.digest
    feed.publish(statusKey(7, 1), STATUS)
    await mirror.pull()

    expect(changed).not.toBe(before)
    expect(mirror.digest).toBe(before)
  })

  test('a catalog that does not answer leaves the state, and start() does not reject', async () => {
    await mirror.pull()
    feed.isDown = true
    await mirror.start()
    mirror.stop()

    expect(mirror.activity(7)).toEqual(ACTIVITY)
  })
})
