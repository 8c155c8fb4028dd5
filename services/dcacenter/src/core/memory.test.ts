import { beforeEach, describe, expect, test } from 'vitest'
import { History } from './history.ts'
import { Keyspace } from './keyspace.ts'
import { MEMORY_LIMITS, Memory, STALE_MS, VANISH_MS } from './memory.ts'
import type { RawFigures } from './raw-stats.ts'

const WALL = 1_800_000_000_000

let memory: Memory
let now: number
let keyspace: Keyspace

beforeEach(() => {
  memory = new Memory()
  now = 0
  keyspace = new Keyspace({ memory, history: new History(), now: () => now })
})

interface Told {
  readonly figures?: RawFigures
  readonly sku?: RawFigures
  readonly state?: string
  readonly at?: number
  readonly by?: 'pull' | 'push'
}

function tell(nodeId: string, { figures = {}, sku, state = '', at = WALL + now, by = 'pull' }: Told): boolean {
  const skus = sku === undefined ? [] : [{ activityId: 1, skuId: 2, state, figures: sku }]
  return memory.apply({ nodeId, role: 'middle', at, figures, labels: {}, skus }, { by, now, wall: WALL + now })
}

const sku = (name: string) => keyspace.hash('sku:1:2')?.get(name)

describe('counters', () => {
  test('become a rate by the time between two reports, and a sum over nodes', () => {
    tell('a', { sku: { granted: 100 } })
    tell('b', { sku: { granted: 10 } })
    now = 1_000
    tell('a', { sku: { granted: 150 } })
    tell('b', { sku: { granted: 15 } })

    expect([sku('granted'), sku('grantRate')]).toEqual([165, 55])
  })

  test('that fall belong to a node that was restarted: nothing is counted twice, nothing is negative', () => {
    tell('a', { sku: { granted: 100 } })
    now = 1_000
    tell('a', { sku: { granted: 4 } })
    now = 2_000
    tell('a', { sku: { granted: 6 } })

    expect([sku('granted'), sku('grantRate')]).toEqual([106, 2])
  })

  test('of a node that was away for minutes are not counted again when it is back', () => {
    tell('a', { sku: { granted: 100 } })
    tell('b', { sku: { granted: 1 } })
    for (let minute = 1; minute <= 5; minute++) {
      now = minute * 60_000
      tell('b', { sku: { granted: 1 } })
      memory.expire(now)
    }
    expect(keyspace.hash('node:a')).toBeUndefined()

    tell('a', { sku: { granted: 130 } })

    expect(sku('granted')).toBe(131)
  })

  test('of a node that died stay in the sum, its rate and its queue do not', () => {
    tell('a', { figures: { queueDepth: 7 }, sku: { granted: 0 } })
    now = 1_000
    tell('a', { figures: { queueDepth: 7 }, sku: { granted: 50 } })
    now += STALE_MS + 1
    tell('b', { figures: { queueDepth: 1 }, sku: { granted: 3 } })

    expect([sku('granted'), sku('grantRate')]).toEqual([53, 0])
    expect(keyspace.hash('totals')?.get('queueDepth')).toBe(1)
    expect(keyspace.hash('totals')?.get('silentNodes')).toBe(1)
  })

  test('that dcacenter never saw are known from the ledger', () => {
    tell('a', { sku: { granted: 5, reservedTotal: 30, deadTotal: 2, outstanding: 8 } })

    expect(sku('granted')).toBe(40)
  })
})

describe('clocks', () => {
  test('a rate is made by the clock of the node, which knows when it measured', () => {
    tell('a', { sku: { granted: 0 } })
    now = 1_200
    tell('a', { sku: { granted: 100 }, at: WALL + 1_000 })

    expect(sku('grantRate')).toBe(100)
  })

  test.each([
    ['stands still', WALL],
    ['jumped an hour ahead', WALL + 3_600_000],
    ['jumped back', WALL - 3_600_000],
  ])('a clock that %s is not believed: then the arrivals count', (_what, at) => {
    tell('a', { sku: { granted: 0 } })
    now = 1_000
    tell('a', { sku: { granted: 100 }, at })

    expect(sku('grantRate')).toBe(100)
  })

  test('a push by a clock that is far off, or that waited too long, is refused and counted', () => {
    now = 60_000
    expect(tell('a', { by: 'push', at: WALL + now - 10_001 })).toBe(false)
    expect(tell('a', { by: 'push', at: WALL + now + 2_001 })).toBe(false)
    expect(tell('a', { by: 'push', at: WALL + now - 9_000 })).toBe(true)
    expect(tell('a', { by: 'push', at: WALL + now - 9_500 })).toBe(false)

    expect([memory.refused.get('skewed'), memory.refused.get('late')]).toEqual([2, 1])
    expect(keyspace.hash('node:a')?.get('ageMs')).toBe(9_000)
  })
})

describe('values', () => {
  test('that are no numbers, negative or absurd are dropped and counted, the others stay', () => {
    tell('a', {
      figures: {
        ...{ queueDepth: 1, cpu: 5_000, rss: -1, lag: Number.NaN, links: '7', waits: null, depth: 1e300 },
        ...{ 'a b': 1, connections: 3 },
      },
    })

    expect(Object.fromEntries(keyspace.hash('node:a') ?? [])).toEqual({
      ...{ role: 'middle', address: '', queueDepth: 1, connections: 3, ageMs: 0 },
    })
    expect(Object.fromEntries(memory.refused)).toMatchObject({ notFinite: 3, negative: 1, absurd: 2, badName: 1 })
  })

  test('carry their age, computed when they are read', () => {
    tell('a', { sku: { free: 1, ledgerAgeMs: 300 } })
    now = 2_000

    expect([sku('ageMs'), sku('ledgerAgeMs')]).toEqual([2_000, 2_300])
    expect(keyspace.hash('totals')?.get('ageMs')).toBe(2_000)
    expect(keyspace.hash('node:a')?.get('ageMs')).toBe(2_000)
  })

  test('of a ledger are a set: the newest one counts, whoever tells it', () => {
    tell('a', { sku: { free: 5, held: 5, ledgerAgeMs: 0 } })
    tell('b', { sku: { free: 9, held: 1, ledgerAgeMs: 400 } })
    expect([sku('free'), sku('held')]).toEqual([5, 5])

    now = 500
    tell('b', { sku: { free: 3, held: 7, ledgerAgeMs: 100 } })

    expect([sku('free'), sku('held')]).toEqual([3, 7])
  })

  test('of a SKU that sells at one node and not at another: it sells', () => {
    tell('a', { sku: {}, state: 'soldOut' })
    tell('b', { sku: {}, state: 'trickling' })

    expect(sku('state')).toBe('trickling')
  })
})

describe('bounds', () => {
  test('a node too many is refused, until one has been silent for a minute', () => {
    memory = new Memory({ ...MEMORY_LIMITS, nodesMax: 2 })
    expect(['a', 'b', 'c'].map((id) => tell(id, {}))).toEqual([true, true, false])
    now = VANISH_MS + 1
    tell('b', {})

    expect(tell('c', {})).toBe(true)
    expect([...memory.nodes(now)].map(({ id }) => id)).toEqual(['b', 'c'])
    expect(memory.refused.get('nodes')).toBe(1)
  })

  test('SKUs and samples too many are refused and counted, the node itself is not', () => {
    memory = new Memory({ nodesMax: 8, skusMax: 2, samplesMax: 3 })
    const skus = [1, 2, 3].map((skuId) => ({ activityId: 1, skuId, state: '', figures: { asks: 1 } }))
    const stats = (nodeId: string) => ({ nodeId, role: 'limiter', at: WALL, figures: {}, labels: {}, skus })

    for (const id of ['a', 'b']) expect(memory.apply(stats(id), { by: 'pull', now, wall: WALL })).toBe(true)

    expect([memory.refused.get('skus'), memory.refused.get('samples')]).toEqual([2, 1])
  })

  test('a SKU that nobody speaks of any more is forgotten with all its samples', () => {
    memory = new Memory({ nodesMax: 8, skusMax: 1, samplesMax: 1 })
    const told = (skuId: number) =>
      memory.apply(
        {
          nodeId: 'a',
          role: 'x',
          at: WALL + now,
          figures: {},
          labels: {},
          skus: [{ activityId: 1, skuId, state: '', figures: {} }],
        },
        { by: 'pull', now, wall: WALL + now },
      )
    told(1)
    now = VANISH_MS + 1
    memory.expire(now)

    told(2)

    expect([...memory.skus(now)].map(({ skuId }) => skuId)).toEqual([2])
    expect(memory.refused.get('samples')).toBe(0)
  })
})

test('an activity and the totals are the sums of their SKUs, and the nodes of their own', () => {
  const skus = [2, 3].map((skuId) => ({ activityId: 1, skuId, state: '', figures: { free: 5, asks: 10, queued: 1 } }))
  const stats = { nodeId: 'a', role: 'limiter', at: WALL, figures: { asks: 25, cpu: 0.125 }, labels: {}, skus }

  memory.apply(stats, { by: 'pull', now, wall: WALL })

  expect(Object.fromEntries(keyspace.hash('activity:1') ?? [])).toMatchObject({
    skus: 2,
    free: 10,
    asks: 20,
    queued: 2,
  })
  expect(Object.fromEntries(keyspace.hash('totals') ?? [])).toMatchObject({
    nodes: 1,
    skus: 2,
    free: 10,
    asks: 25,
    cpu: 0.13,
  })
  expect(keyspace.hash('activity:2')).toBeUndefined()
})
