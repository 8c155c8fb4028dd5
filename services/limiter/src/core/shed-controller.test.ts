import { COHORT_COUNT, RANK_COUNT } from '@bigtap/domain'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { demandBelow, levelOf, moveThreshold, openState, type ShedSample, type ShedState } from './shed-controller.ts'

const demandOf = (perTier: readonly number[]) =>
  Float64Array.from({ length: RANK_COUNT }, (_, rank) => (perTier[Math.floor(rank / COHORT_COUNT)] ?? 0) / COHORT_COUNT)
const look = (state: ShedState, more: Partial<ShedSample>): ShedState =>
  moveThreshold(state, {
    ...{ elapsedMs: 50, demand: demandOf([160, 0, 0, 0, 160, 160]), reached: 480, served: 200, waitMs: 0, loopMs: 0 },
    isStanding: (more.waitMs ?? 0) > 0,
    ...more,
  })
const looks = (count: number, state: ShedState, more: Partial<ShedSample>): ShedState => {
  let now = state
  for (let n = 0; n < count; n++) now = look(now, more)
  return now
}

test('the demand below the level for a demand is that demand', () => {
  const demand = fc.array(fc.integer({ min: 0, max: 50 }), { minLength: RANK_COUNT, maxLength: RANK_COUNT })
  fc.assert(
    fc.property(demand, fc.nat(5_000), (list, wanted) => {
      const histogram = Float64Array.from(list)
      const total = list.reduce((sum, one) => sum + one, 0)
      const level = levelOf(histogram, wanted)
      if (wanted >= total) expect(level).toBe(RANK_COUNT)
      else expect(demandBelow(histogram, level)).toBeCloseTo(wanted, 6)
    }),
    { seed: 1 },
  )
})

test('one look after asks began to wait, no more is let in than Middle answered', () => {
  const state = look(openState(), { waitMs: 30 })
  expect(state.threshold).toBeGreaterThan(4 * COHORT_COUNT)
  expect(demandBelow(demandOf([160, 0, 0, 0, 160, 160]), state.threshold)).toBeLessThanOrEqual(200)
})

test('it holds between hot and calm, opens only after two calm looks, and slowly', () => {
  const closed = look(openState(), { waitMs: 30 })
  expect(look(closed, { waitMs: 8 }).threshold).toBe(closed.threshold)
  const once = look(closed, { waitMs: 0 })
  expect(once.threshold).toBe(closed.threshold)
  const twice = look(once, { waitMs: 0 })
  expect(twice.threshold).toBeGreaterThan(closed.threshold)
  expect(twice.threshold).toBeLessThan(closed.threshold + 1)
  expect(looks(100, twice, { waitMs: 0 }).threshold).toBe(RANK_COUNT)
})

test('the best tier is closed last and gently, and opens again within a second', () => {
  const onlyBest = { demand: demandOf([600]), reached: 600, served: 200, waitMs: 30 }
  const twice = looks(2, openState(), onlyBest)
  expect(twice.threshold).toBe(COHORT_COUNT)
  expect(look(twice, onlyBest).threshold).toBe(COHORT_COUNT - 1)
  const shut = looks(40, twice, onlyBest)
  expect(shut.threshold).toBeGreaterThanOrEqual(1)
  expect(looks(20, shut, { ...onlyBest, waitMs: 0 }).threshold).toBeGreaterThanOrEqual(COHORT_COUNT)
})

test('a wave of the best that passes closes no more than the worse tiers, and a shut best tier opens when none stands', () => {
  const wave = { demand: demandOf([600]), reached: 600, served: 200, waitMs: 60, isStanding: false }
  expect(looks(50, openState(), wave).threshold).toBe(COHORT_COUNT)
  const shut = looks(12, openState(), { ...wave, isStanding: true })
  expect(shut.threshold).toBeLessThan(COHORT_COUNT)
  expect(looks(16, shut, wave).threshold).toBe(COHORT_COUNT)
})

test('an event loop that is late sheds the worse tiers only', () => {
  expect(looks(100, openState(), { loopMs: 80 }).threshold).toBe(COHORT_COUNT)
})

test('a process that stands still for another reason sheds nobody', () => {
  const few = { demand: demandOf([2, 0, 0, 1]), reached: 3, served: 3, loopMs: 200 }
  expect(looks(100, openState(), few).threshold).toBe(RANK_COUNT)
})

test('requests that are answered before they reach Middle do not close it further', () => {
  // Half of those who are let in are refused by a limit: Middle can answer 200 of 400.
  const demand = demandOf([160, 0, 0, 0, 240])
  const state = look(openState(), { demand, reached: 200, served: 200, waitMs: 12 })
  expect(demandBelow(demand, state.threshold)).toBeGreaterThan(380)
})

test('whatever is seen, the threshold stays within the ranks and the figures are finite', () => {
  const sample = fc.record({
    elapsedMs: fc.integer({ min: 0, max: 5_000 }),
    demand: fc
      .array(fc.nat(1_000), { minLength: RANK_COUNT, maxLength: RANK_COUNT })
      .map((list) => Float64Array.from(list)),
    ...{ reached: fc.nat(5_000), served: fc.nat(5_000), waitMs: fc.nat(200), loopMs: fc.nat(200) },
    isStanding: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(sample, { maxLength: 30 }), (samples) => {
      let state = openState()
      for (const one of samples) state = moveThreshold(state, one)
      expect(state.threshold).toBeGreaterThanOrEqual(1)
      expect(state.threshold).toBeLessThanOrEqual(RANK_COUNT)
      expect([state.capacity, state.passing, state.reached].every(Number.isFinite)).toBe(true)
    }),
    { seed: 2 },
  )
})
