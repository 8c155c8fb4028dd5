import { parseSlotTableDoc } from '@bigtap/domain'
import { expect, test } from 'vitest'
import { parseNodes, planSlots } from './slot-plan.ts'

const nodes = (count: number) =>
  parseNodes(Array.from({ length: count }, (_, at) => `middle-${at + 1}=10.0.0.${at + 1}:8300`))
const sizes = (owners: readonly number[], count: number) =>
  Array.from({ length: count }, (_, node) => owners.filter((owner) => owner === node).length)

test('every slot has an owner and the nodes have equally many', () => {
  for (const count of [1, 2, 3, 7, 100]) {
    const table = planSlots(undefined, nodes(count))
    expect(parseSlotTableDoc(table).ok).toBe(true)
    const owned = sizes(table.owners, count)
    expect(Math.max(...owned) - Math.min(...owned)).toBeLessThanOrEqual(1)
  }
})

test('the same list keeps its epoch, another one raises it', () => {
  const first = planSlots(undefined, nodes(2))
  expect(first.epoch).toBe(1)
  expect(planSlots(JSON.parse(JSON.stringify(first)), nodes(2))).toEqual(first)
  expect(planSlots(first, nodes(3)).epoch).toBe(2)
})

test('a new node takes only the slots that it gets, and a lost one gives only its own', () => {
  const three = planSlots(undefined, nodes(3))
  const four = planSlots(three, nodes(4))
  const moved = four.owners.filter((owner, slot) => owner !== three.owners[slot])
  expect(new Set(moved)).toEqual(new Set([3]))
  const back = planSlots(four, nodes(3))
  expect(back.owners.filter((owner, slot) => owner !== four.owners[slot])).toHaveLength(256)
})

test('a list that cannot be read names the bad item', () => {
  expect(() => parseNodes(['middle-1'])).toThrow('node "middle-1" is not id=host:port')
  expect(() => parseNodes([])).toThrow('there is no middle node')
  expect(() => parseNodes(['a=h:1', 'a=h:2'])).toThrow('named twice')
})

test('a kept table that is damaged is planned anew', () => {
  expect(planSlots({ epoch: 3, nodes: [], owners: [] }, nodes(2)).owners).toHaveLength(1_024)
})
