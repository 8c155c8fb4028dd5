import { mix } from '@bigtap/kernel'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DistinctSketch, HALF_MS } from './distinct-sketch.ts'

const BASE = 60_000 * HALF_MS

/** Standard error of linear counting, as a share of `count` (Whang et al., 1990). */
function standardError(count: number, bits: number): number {
  const load = count / bits
  return Math.sqrt(bits * (Math.exp(load) - load - 1)) / count
}

test.each([64, 512, 1_024])('with %i bits the estimate is as close as theory says, up to as many', (bits) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: bits }), fc.integer(), (count, salt) => {
      const sketch = new DistinctSketch(1, bits)
      for (let one = 0; one < count; one++) {
        const hash = mix(one * 2_654_435_761 + salt)
        sketch.add(0, hash, BASE)
        sketch.add(0, hash, BASE + 5)
      }

      // Five standard errors, and one for small numbers where two that share a bit are a large share.
      const allowed = 5 * standardError(Math.max(count, 8), bits) * count + 1.5
      expect(Math.abs(sketch.estimate(0, BASE) - count)).toBeLessThanOrEqual(allowed)
    }),
    { numRuns: 200 },
  )
})

test('the same ones again and again are counted once', () => {
  const sketch = new DistinctSketch(2, 64)
  for (let ask = 0; ask < 10_000; ask++) sketch.add(1, mix(ask % 3), BASE + ask)

  expect(Math.round(sketch.estimate(1, BASE + 10_000))).toBe(3)
  expect(sketch.estimate(0, BASE)).toBe(0)
})

test('who was not seen for a minute is forgotten, who was seen within half a minute is not', () => {
  const sketch = new DistinctSketch(1, 64)
  sketch.add(0, 7, BASE + HALF_MS - 1)
  sketch.add(0, 8, BASE + HALF_MS)

  expect(Math.round(sketch.estimate(0, BASE + HALF_MS))).toBe(2)
  expect(Math.round(sketch.estimate(0, BASE + HALF_MS * 2))).toBe(1)
  expect(sketch.estimate(0, BASE + HALF_MS * 3)).toBe(0)
})

test('the order of sights within half a minute changes nothing, and neither does a turn that nobody looked at', () => {
  const sights = fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: HALF_MS * 4 })), {
    maxLength: 60,
  })
  fc.assert(
    fc.property(sights, (list) => {
      const sketch = new DistinctSketch(1, 1_024)
      const late = new DistinctSketch(1, 1_024)
      const sorted = [...list].sort(([, one], [, other]) => one - other)
      for (const [who, ms] of sorted) sketch.add(0, mix(who), BASE + ms)
      const arrival = ([who, ms]: [number, number]) => ms + (mix(who) % (HALF_MS - 1))
      for (const [who, ms] of [...list].sort((one, other) => arrival(one) - arrival(other)))
        late.add(0, mix(who), BASE + ms)

      const now = BASE + HALF_MS * 4
      const bits = new Set(list.filter(([, ms]) => ms >= HALF_MS * 3).map(([who]) => mix(who) & 1_023)).size
      expect(late.estimate(0, now)).toBe(sketch.estimate(0, now))
      expect(sketch.estimate(0, now)).toBeCloseTo(-1_024 * Math.log(1 - bits / 1_024), 2)
    }),
  )
})
