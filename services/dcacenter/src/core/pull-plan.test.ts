import { expect, test } from 'vitest'
import { EVERY_MS, nextPace, paceOf, targetsOf } from './pull-plan.ts'

const BASE_MS = 1_000

test('two rounds in a row that take more than half the interval widen it, and short ones narrow it again', () => {
  let pace = paceOf(BASE_MS)
  const round = (tookMs: number) => {
    pace = nextPace(BASE_MS, pace, { nodes: 10, tookMs })
    return pace.everyMs
  }

  expect([501, 100, 501, 400, 501, 501].map(round)).toEqual([1_000, 1_000, 1_000, 1_000, 1_000, 2_000])
  expect([700, 700, 499, 100].map(round)).toEqual([2_000, 2_000, 1_000, 1_000])
})

test('more than 200 nodes are pulled less often, however fast they answer', () => {
  const everyMs = (nodes: number) => nextPace(BASE_MS, paceOf(BASE_MS), { nodes, tookMs: 10 }).everyMs

  expect([200, 201, 400, 401].map(everyMs)).toEqual([1_000, 2_000, 2_000, 3_000])
})

test('the interval has bounds, whatever is set', () => {
  expect(paceOf(0).everyMs).toBe(EVERY_MS.min)
  let pace = paceOf(8_000)
  for (let round = 0; round < 5; round++) pace = nextPace(BASE_MS, pace, { nodes: 9, tookMs: pace.everyMs })
  expect(pace.everyMs).toBe(EVERY_MS.max)
})

test('a round waits 400 ms for its last answers, and never more than half the interval', () => {
  expect([paceOf(10_000), paceOf(1_000), paceOf(200)].map(({ deadlineMs }) => deadlineMs)).toEqual([400, 400, 100])
})

test('nodes are pulled that have an address for it and were heard of lately, the newest first', () => {
  const node = (id: string, ageMs: number, statsAddress = `${id}:1`) => ({ id, role: 'middle', statsAddress, ageMs })
  const nodes = [node('old', 60_000), node('b', 900), node('cart', 5, ''), node('a', 100), node('c', 1_000)]

  expect(targetsOf(nodes, 2)).toEqual([
    { id: 'a', address: 'a:1' },
    { id: 'b', address: 'b:1' },
  ])
})
