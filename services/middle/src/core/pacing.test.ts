import { DEFAULT_POLICY, NO_FIGURES } from '@bigtap/domain'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type GrantRate, NO_PRESSING, paceUnder, stepGrantRate, UNPACED } from './pacing.ts'

const paced = { ...DEFAULT_POLICY, pacePerSecond: 500, taperPacePerSecond: 50 }

/** A second in which the cluster grants so many, looked at each 50 ms. */
function second(before: GrantRate | undefined, from: number, perSecond: number, factor = 1): GrantRate {
  const granted = before?.granted ?? 0
  let rate = before
  for (let ms = 0; ms <= 1_000; ms += 50) {
    const outstanding = granted + Math.round((perSecond * ms) / 1_000)
    rate = stepGrantRate(rate, { ...NO_FIGURES, outstanding }, from + ms, factor)
  }
  if (rate === undefined) throw new Error('no rate')
  return rate
}

test('pressure lowers every pace by its factor, and none when nothing presses', () => {
  expect(paceUnder('releasing', paced, NO_PRESSING)).toBe(500)
  expect(paceUnder('releasing', paced, { factor: 0.5, unpacedPerSecond: 9 })).toBe(250)
  expect(paceUnder('tapering', paced, { factor: 0.5, unpacedPerSecond: 9 })).toBe(25)
  expect(paceUnder('releasing', DEFAULT_POLICY, NO_PRESSING)).toBeNull()
})

test('a product without a pace slows down from what it sold before the pressure', () => {
  const before = second(undefined, 0, 2_000)
  const under = second(before, 1_000, 1_000, 0.5)
  const later = second(under, 2_000, 1_000, 0.5)

  expect(paceUnder('releasing', DEFAULT_POLICY, later)).toBeCloseTo(1_000, -1)
})

test('a node that came during the pressure infers the rate from what the factor leaves', () => {
  const late = second(undefined, 0, 500, 0.25)

  expect(paceUnder('releasing', DEFAULT_POLICY, late)).toBeCloseTo(500, -1)
})

test('a lull of a second hides nothing, and after the pressure the product has no pace again', () => {
  const lull = second(second(undefined, 0, 2_000), 1_000, 0)

  expect(lull.perSecond).toBeGreaterThan(1_000)
  expect(paceUnder('releasing', DEFAULT_POLICY, second(lull, 2_000, 100))).toBeNull()
})

test('whatever is measured, a pace under pressure is bounded and never stops the sale', () => {
  const looks = fc.array(
    fc.record({
      passMs: fc.integer({ min: -500, max: 5_000 }),
      outstanding: fc.nat(10_000_000),
      factor: fc.double({ min: 0.05, max: 1, noNaN: true }),
    }),
  )
  fc.assert(
    fc.property(looks, (steps) => {
      let rate: GrantRate | undefined
      let now = 1_000_000
      for (const { passMs, outstanding, factor } of steps) {
        now += passMs
        rate = stepGrantRate(rate, { ...NO_FIGURES, outstanding }, now, factor)
        const pace = paceUnder('releasing', DEFAULT_POLICY, rate)
        if (factor === 1) expect(pace).toBeNull()
        else {
          expect(pace).toBeGreaterThanOrEqual(UNPACED.least * 0.05)
          expect(pace).toBeLessThanOrEqual(UNPACED.most)
        }
      }
    }),
    { seed: 1 },
  )
})
