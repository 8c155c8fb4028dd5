import { RANK_COUNT } from '@bigtap/domain'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { moveShedFrom, NOT_OVERLOADED, type OverloadSample, type OverloadState, saidOf } from './overload.ts'

const CALM: OverloadSample = { loopMs: 0, asks: 500, waitingShare: 0, pendingShare: 0 }
const looks = (count: number, from: OverloadState, more: Partial<OverloadSample>) => {
  let state = from
  for (let n = 0; n < count; n++) state = moveShedFrom(state, { ...CALM, ...more })
  return state
}

test('a node that is not overloaded says nothing, nor does one that stood still once, or for another reason than asks', () => {
  expect(saidOf(looks(10, NOT_OVERLOADED, {}))).toBe(0)
  expect(saidOf(looks(1, NOT_OVERLOADED, { loopMs: 400 }))).toBe(0)
  expect(saidOf(looks(50, NOT_OVERLOADED, { loopMs: 400, asks: 20 }))).toBe(0)
})

test('a node that is too slow keeps back the worse tiers one after the other within half a second, the best never', () => {
  expect(saidOf(looks(2, NOT_OVERLOADED, { loopMs: 80 }))).toBe(80)
  expect(saidOf(looks(10, NOT_OVERLOADED, { loopMs: 80 }))).toBe(16)
  expect(saidOf(looks(100, NOT_OVERLOADED, { loopMs: 80, waitingShare: 0.6 }))).toBe(16)
})

test('a node that has nearly no place left keeps back some of the best too', () => {
  expect(saidOf(looks(12, NOT_OVERLOADED, { waitingShare: 0.95 }))).toBeLessThan(16)
  expect(saidOf(looks(1_000, NOT_OVERLOADED, { pendingShare: 1 }))).toBe(1)
})

test('it opens slowly, after a quarter of a second of calm, and opens wholly', () => {
  const shut = looks(10, NOT_OVERLOADED, { loopMs: 80 })
  expect(looks(4, shut, {}).from).toBe(shut.from)
  expect(looks(5, shut, {}).from).toBe(shut.from + 2)
  expect(looks(50, shut, { loopMs: 30 }).from).toBe(shut.from)
  expect(saidOf(looks(60, shut, {}))).toBe(0)
})

test('whatever is seen, what is said is a rank or nothing', () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true })
  const sample = fc.record({ loopMs: fc.nat(200), asks: fc.nat(200), waitingShare: share, pendingShare: share })
  fc.assert(
    fc.property(fc.array(sample), (samples) => {
      const state = samples.reduce(moveShedFrom, NOT_OVERLOADED)
      expect(state.from).toBeGreaterThanOrEqual(1)
      expect(state.from).toBeLessThanOrEqual(RANK_COUNT)
      expect(Number.isInteger(saidOf(state))).toBe(true)
    }),
    { seed: 4 },
  )
})
