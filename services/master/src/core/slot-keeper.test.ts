import { parseSlotTableDoc, type SlotTableDoc } from '@bigtap/domain'
import { SLOT_COUNT } from '@bigtap/kernel'
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { SlotKeeper, type SlotNodeFact } from './slot-keeper.ts'

const LOOK_MS = 200

/** Nodes by id, and the table as master would keep it. */
class World {
  now = 0
  table: SlotTableDoc | undefined
  readonly keeper = new SlotKeeper()
  readonly nodes = new Map<string, SlotNodeFact>()

  /** A node that beats from now on. */
  node(id: string, state: SlotNodeFact['state'] = 'ready', address = `10.0.0.1:${id.length}`): void {
    this.nodes.set(id, { id, address, state, ageMs: 0 })
  }

  silent(id: string, ageMs: number): void {
    const node = this.nodes.get(id)
    if (node !== undefined) this.nodes.set(id, { ...node, ageMs })
  }

  /** One look; the number of slots that moved. */
  look(): number {
    this.now += LOOK_MS
    const before = this.owners()
    const next = this.keeper.tick(this.now, { table: this.table, nodes: [...this.nodes.values()] })
    if (next === undefined) return 0
    expect(parseSlotTableDoc(next)).toEqual({ ok: true, value: next })
    expect(next.epoch).toBe((this.table?.epoch ?? 0) + 1)
    this.table = next
    return this.owners().filter((id, slot) => id !== before[slot]).length
  }

  /** Looks for a while. */
  looks(ms: number): number {
    let moved = 0
    for (let passed = 0; passed < ms; passed += LOOK_MS) moved += this.look()
    return moved
  }

  owners(): string[] {
    const { table } = this
    return table === undefined ? [] : table.owners.map((owner) => table.nodes[owner]?.id ?? '')
  }

  counts(): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const id of this.owners()) counts[id] = (counts[id] ?? 0) + 1
    return counts
  }
}

let world: World

beforeEach(() => {
  world = new World()
  for (const id of ['a', 'b', 'c']) world.node(id)
})

test('at the very start all that are ready share the slots, once one of them was steady', () => {
  expect(world.looks(1_000)).toBe(0)
  expect(world.table).toBeUndefined()
  world.node('d')

  world.looks(400)

  expect(world.counts()).toEqual({ a: 256, b: 256, c: 256, d: 256 })
  expect(world.table?.epoch).toBe(1)
})

test('while nothing changes the table stays', () => {
  world.looks(2_000)
  const { table } = world

  world.looks(10_000)

  expect(world.table).toBe(table)
})

test('a node that is silent for 1.5 s loses its slots to the others at once, and only those move', () => {
  world.looks(2_000)
  world.silent('b', 1_500)
  expect(world.look()).toBe(0)
  world.silent('b', 1_501)

  expect(world.look()).toBe(world.owners().length - 683)

  expect(world.counts()).toEqual({ a: 512, c: 512 })
  expect(world.table?.nodes.map(({ id }) => id)).toEqual(['a', 'c'])
})

test('a node that is restarted within the silence keeps its slots; one that never gets ready loses them', () => {
  world.looks(2_000)
  world.silent('b', 1_400)
  world.look()
  world.node('b', 'joining')

  expect(world.looks(2_800)).toBe(0)
  world.look()
  world.look()

  expect(world.counts()).toEqual({ a: 512, c: 512 })
})

test('a restarted node on another port is told to all, and nothing moves', () => {
  world.looks(2_000)
  world.node('b', 'joining', '10.0.0.9:99')

  expect(world.look()).toBe(0)
  expect(world.table?.nodes[1]).toEqual({ id: 'b', address: '10.0.0.9:99' })
  expect(world.table?.epoch).toBe(2)
})

test('a new node is listed as soon as it is ready and gets its share after a second', () => {
  world.looks(2_000)
  world.node('d', 'joining')
  world.looks(2_000)
  expect(world.table?.nodes).toHaveLength(3)
  world.node('d')

  expect(world.looks(1_000)).toBe(0)
  expect(world.table?.nodes[3]?.id).toBe('d')
  expect(world.look()).toBe(256)
  expect(world.counts()).toEqual({ a: 256, b: 256, c: 256, d: 256 })
})

test('a node that flaps gets nothing', () => {
  world.looks(2_000)
  for (let round = 0; round < 5; round++) {
    world.node('d')
    expect(world.looks(800)).toBe(0)
    world.silent('d', 2_000)
    expect(world.looks(400)).toBe(0)
  }
})

test('a leaving node gives all away and stays listed while it is there, so that its last answers arrive', () => {
  world.looks(2_000)
  world.node('a', 'leaving')

  expect(world.look()).toBe(342)
  expect(world.counts()).toEqual({ b: 512, c: 512 })
  expect(world.table?.nodes.map(({ id }) => id)).toEqual(['a', 'b', 'c'])

  world.nodes.delete('a')
  expect(world.look()).toBe(0)
  expect(world.table?.nodes.map(({ id }) => id)).toEqual(['b', 'c'])
})

test('when nobody is ready the table stays, and the first to come takes all', () => {
  world.looks(2_000)
  const { table } = world
  for (const id of ['a', 'b', 'c']) world.silent(id, 9_000)
  expect(world.looks(3_000)).toBe(0)
  expect(world.table).toBe(table)
  world.node('d')

  world.look()

  expect(world.counts()).toEqual({ d: SLOT_COUNT })
})

test('the last node that leaves keeps its slots', () => {
  world.looks(2_000)
  for (const id of ['a', 'b', 'c']) world.node(id, 'leaving')

  expect(world.looks(2_000)).toBe(0)
})

test('after Redis was away all have time to be heard again', () => {
  world.looks(2_000)
  world.now += 5_000
  for (const id of ['a', 'b', 'c']) world.silent(id, 5_000)
  world.node('a')

  expect(world.looks(600)).toBe(0)
  world.node('b')

  world.looks(400)
  expect(world.counts()).toEqual({ a: 512, b: 512 })
})

test('an emptied Redis that hears the nodes one by one moves nothing', () => {
  world.looks(2_000)
  world.nodes.clear()
  world.node('b')
  expect(world.looks(400)).toBe(0)
  world.node('a')
  world.node('c')

  expect(world.looks(2_000)).toBe(0)
})

test('whatever nodes do: shares differ by one, no slot has a dead owner while one is ready, and the fewest move', () => {
  const event = fc.record({
    id: fc.integer({ min: 0, max: 6 }),
    what: fc.constantFrom('ready', 'leaving', 'silent', 'gone', 'nothing', 'nothing'),
    looks: fc.integer({ min: 1, max: 8 }),
  })
  fc.assert(
    fc.property(fc.array(event, { maxLength: 25 }), (events) => {
      const one = new World()
      one.node('n0')
      one.looks(2_000)
      for (const { id, what, looks } of events) {
        const name = `n${id}`
        if (what === 'ready' || what === 'leaving') one.node(name, what)
        else if (what === 'silent') one.silent(name, 5_000)
        else if (what === 'gone') one.nodes.delete(name)
        for (let look = 0; look < looks; look++) expectFewest(one)
      }
      one.looks(3_000)
      expectFair(one)
      const { table } = one
      one.looks(3_000)
      expect(one.table).toBe(table)
    }),
    { seed: 7, numRuns: 150 },
  )
})

/** Of what an owner of the new table had before, it loses only what is above its share. */
function expectFewest(one: World): void {
  const before = one.counts()
  const moved = one.look()
  const after = one.counts()
  const sharing = Object.keys(after).filter((id) => one.nodes.has(id))
  if (moved === 0 || sharing.length !== Object.keys(after).length) return
  const floor = Math.floor(SLOT_COUNT / sharing.length)
  const had = sharing.map((id) => before[id] ?? 0)
  const larger = Math.min(SLOT_COUNT % sharing.length, had.filter((count) => count > floor).length)
  expect(moved).toBe(SLOT_COUNT - had.reduce((sum, count) => sum + Math.min(count, floor), 0) - larger)
}

function expectFair(one: World): void {
  const ready = [...one.nodes.values()].filter(({ state, ageMs }) => state === 'ready' && ageMs === 0)
  if (ready.length === 0) return
  const counts = one.counts()
  expect(Object.keys(counts).sort()).toEqual(ready.map(({ id }) => id).sort())
  expect(Math.max(...Object.values(counts)) - Math.min(...Object.values(counts))).toBeLessThanOrEqual(1)
}
