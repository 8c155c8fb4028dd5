import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LimitSettings } from './algorithm.ts'
import { createLimiter, limitStep } from './keyed-limiter.ts'

const ALGORITHMS = ['fixed-window', 'sliding-window', 'leaky-bucket', 'token-bucket'] as const
const settingsOf = (algorithm: LimitSettings['algorithm']) => ({ algorithm, seconds: 2, maxCount: 5, keysMax: 1_000 })
const START = 1_800_000_000_000

/** Times of asks, ms after the start, in order. */
const askTimes = fc.array(fc.integer({ min: 0, max: 700 }), { minLength: 1, maxLength: 120 }).map((gaps) =>
  gaps.map(
    (
      (at) => (gap: number) =>
        (at += gap)
    )(0),
  ),
)

/** Asks that pass, by a step. */
function passes(settings: LimitSettings, times: readonly number[]): number[] {
  const step = limitStep(settings)
  const state = { at: 0, a: 0, b: 0 }
  return times.filter((at) => step(state, START + at) === 0)
}

describe.each(ALGORITHMS)('%s', (algorithm) => {
  test('the first access of a key passes (seed 004 refused everybody for ever)', () => {
    expect(createLimiter(settingsOf(algorithm)).take('new', START)).toBe(0)
  })

  test('what was refused passes after the wait that was told, and one ms earlier it does not', () => {
    fc.assert(
      fc.property(askTimes, (times) => {
        const limiter = createLimiter(settingsOf(algorithm))
        let last = 0
        for (const at of times) last = limiter.take(1, START + at)
        if (last === 0) return
        const now = START + (times.at(-1) ?? 0)
        expect(limiter.take(1, now + last)).toBe(0)
      }),
      { seed: 1 },
    )
  })

  test('a refused access takes nothing: hammering blocks nobody for ever', () => {
    const limiter = createLimiter(settingsOf(algorithm))
    let passed = 0
    for (let ms = 0; ms < 20_000; ms += 10) if (limiter.take(1, START + ms) === 0) passed++
    expect(passed).toBeGreaterThanOrEqual(40)
    expect(passed).toBeLessThanOrEqual(55)
  })

  test('a clock that jumps back blocks nobody for longer than the window', () => {
    const limiter = createLimiter(settingsOf(algorithm))
    for (let n = 0; n < 10; n++) limiter.take(1, START + 100_000)
    const waitMs = limiter.take(1, START)
    expect(waitMs === 0 || limiter.take(1, START + 200_000) === 0).toBe(true)
  })
})

describe('against a slow, obvious reference', () => {
  test('fixed window: at most maxCount in each aligned window', () => {
    fc.assert(
      fc.property(askTimes, (times) => {
        const counts = new Map<number, number>()
        const expected = times.filter((at) => {
          const window = Math.floor((START + at) / 2_000)
          const count = counts.get(window) ?? 0
          if (count >= 5) return false
          counts.set(window, count + 1)
          return true
        })
        expect(passes(settingsOf('fixed-window'), times)).toEqual(expected)
      }),
      { seed: 2 },
    )
  })

  test('token bucket: tokens by exact fractions', () => {
    fc.assert(
      fc.property(askTimes, (times) => {
        let tokens = 5
        let before = times[0] ?? 0
        const expected = times.filter((at) => {
          tokens = Math.min(5, tokens + ((at - before) * 5) / 2_000)
          before = at
          if (tokens < 1 - 1e-9) return false
          tokens--
          return true
        })
        expect(passes(settingsOf('token-bucket'), times)).toEqual(expected)
      }),
      { seed: 3 },
    )
  })

  test('sliding window: never more than maxCount in any window by its own estimate', () => {
    fc.assert(
      fc.property(askTimes, (times) => {
        const passed = passes(settingsOf('sliding-window'), times)
        for (const at of passed) {
          const window = Math.floor((START + at) / 2_000)
          const inWindow = passed.filter((one) => Math.floor((START + one) / 2_000) === window && one <= at).length
          expect(inWindow).toBeLessThanOrEqual(5)
        }
      }),
      { seed: 4 },
    )
  })
})

test('the leaky bucket leaks however often it is looked at (seed 000: 10 passed in 3 s where 40 are due)', () => {
  const limiter = createLimiter({ algorithm: 'leaky-bucket', seconds: 1, maxCount: 10, keysMax: 10 })
  let passed = 0
  for (let ms = 0; ms < 3_000; ms += 7) if (limiter.take('k', START + ms) === 0) passed++
  expect(passed).toBeGreaterThanOrEqual(39)
  expect(passed).toBeLessThanOrEqual(41)
})

test('spraying keys stays within the bound and forgets the key that was idle longest', () => {
  const limiter = createLimiter({ algorithm: 'fixed-window', seconds: 3_600, maxCount: 1, keysMax: 1_000 })
  limiter.take('buyer', START)
  for (let n = 0; n < 50_000; n++) {
    limiter.take(`spray-${n}`, START)
    if (n % 500 === 0) expect(limiter.take('buyer', START)).toBeGreaterThan(0)
  }
  expect(limiter.size).toBe(1_000)
  expect(limiter.evicted).toBe(50_000 - 999)
})
