import { beforeEach, expect, test } from 'vitest'
import { History } from './history.ts'
import { Keyspace } from './keyspace.ts'
import { Memory } from './memory.ts'

let memory: Memory
let history: History
let keyspace: Keyspace

const tell = (nodeId: string, skuIds: readonly number[] = []) => {
  const skus = skuIds.map((skuId) => ({ activityId: 1, skuId, state: 'ready', figures: {} }))
  memory.apply({ nodeId, role: 'x', at: 1, figures: {}, labels: {}, skus }, { by: 'pull', now: 0, wall: 1 })
}

beforeEach(() => {
  memory = new Memory()
  history = new History()
  keyspace = new Keyspace({ memory, history, now: () => 0 })
})

test('every key that is named is there, and none else', () => {
  tell('a:b', [1, 2])
  history.begin(1)
  history.record('node:a:b', { cpu: 1 })

  const keys = [...keyspace.keys()]

  expect(keys.sort()).toEqual(
    ['activity:1', 'node:a:b', 'nodes', 'series:node:a:b:cpu', 'sku:1:1', 'sku:1:2', 'skus', 'totals'].sort(),
  )
  for (const key of keys) expect(keyspace.type(key)).not.toBe('none')
  for (const key of ['node:', 'sku:1:3', 'sku:1:2:3', 'sku:1', 'activity:1:1', 'series:', 'series:a:b', 'x'])
    expect(keyspace.type(key)).toBe('none')
})

test('a scan finds every key once that is there all the time, while others come and go', () => {
  for (let node = 0; node < 50; node++) tell(`stays-${node}`)
  const found: string[] = []
  let cursor = 0
  let rounds = 0

  do {
    const { next, keys } = keyspace.scan(cursor, 7)
    found.push(...keys.filter((key) => key.includes('stays')))
    cursor = next
    tell(`comes-${rounds++}`)
  } while (cursor !== 0)

  expect(found.sort()).toEqual(Array.from({ length: 50 }, (_, node) => `node:stays-${node}`).sort())
  expect(rounds).toBeGreaterThan(5)
})

test('the rows of nodes and SKUs are JSON', () => {
  tell('a', [1])

  expect(JSON.parse(String(keyspace.hash('skus')?.get('1:1')))).toMatchObject({
    activityId: 1,
    skuId: 1,
    state: 'ready',
  })
  expect(JSON.parse(String(keyspace.hash('nodes')?.get('a')))).toMatchObject({
    id: 'a',
    role: 'x',
    figures: { ageMs: 0 },
  })
})

test('without a node there are totals of nothing', () => {
  expect([...keyspace.keys()]).toEqual(['totals'])
  expect(Object.fromEntries(keyspace.hash('totals') ?? [])).toMatchObject({ nodes: 0, skus: 0, granted: 0, ageMs: 0 })
  expect(keyspace.scan(0, 10)).toEqual({ next: 0, keys: ['totals'] })
})
