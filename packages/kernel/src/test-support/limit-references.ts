/** The four limits again, as slow and as obvious as can be: exact numbers only, every access remembered. */

import type { LimitSettings } from '../limit/algorithm.ts'

/** Says of each time (ms after the start; the clock may go back) whether an access passes then. */
export type Reference = (settings: LimitSettings, startMs: number, times: readonly number[]) => boolean[]

/** The reference of each algorithm. `maxCount` and `burst` are multiples of a quarter, which doubles hold exactly. */
export const REFERENCES: Readonly<Record<LimitSettings['algorithm'], Reference>> = {
  'fixed-window': (settings, startMs, times) => {
    const { maxCount } = settings
    return byHistory(settings, startMs, times, (at, passed, windowMs) => {
      const window = Math.floor(at / windowMs)
      // All windows from the epoch on up to this one, and all before it: fractions come together in a later window.
      const quota = Math.floor((window + 1) * maxCount) - Math.floor(window * maxCount)
      return countIn(passed, window, windowMs) < quota
    })
  },
  'sliding-window': (settings, startMs, times) => {
    const { maxCount } = settings
    return byHistory(settings, startMs, times, (at, passed, windowMs) => {
      if (at - (passed.at(-1) ?? 0) >= windowMs) return true // nothing in the window that ends now
      const window = Math.floor(at / windowMs)
      const leftMs = (window + 1) * windowMs - at
      const before = countIn(passed, window - 1, windowMs)
      const now = countIn(passed, window, windowMs)
      return before * leftMs + (now + 1) * windowMs <= maxCount * windowMs
    })
  },
  'leaky-bucket': bucket,
  'token-bucket': bucket,
}

/** Both buckets let the same through. The level is counted in 1 / windowMs of a unit, so that each ms leaks `maxCount`. */
function bucket({ seconds, maxCount, burst = maxCount }: LimitSettings, _startMs: number, times: readonly number[]) {
  const windowMs = Math.round(seconds * 1000)
  let level = 0
  let lastMs = 0
  return times.map((at) => {
    for (; lastMs < at && level > 0; lastMs++) level = Math.max(0, level - maxCount)
    lastMs = at // also when the clock went back
    if (level + windowMs > burst * windowMs) return false
    level += windowMs
    return true
  })
}

/** A clock that goes back into an earlier window forgets all: those accesses are yet to come. */
function byHistory(
  { seconds }: LimitSettings,
  startMs: number,
  times: readonly number[],
  passes: (at: number, passed: readonly number[], windowMs: number) => boolean,
): boolean[] {
  const windowMs = Math.round(seconds * 1000)
  let passed: number[] = []
  let last = Number.NEGATIVE_INFINITY
  return times.map((time) => {
    const at = startMs + time
    const window = Math.floor(at / windowMs)
    if (window < last) passed = []
    last = window
    const isPassed = passes(at, passed, windowMs)
    if (isPassed) passed.push(at)
    return isPassed
  })
}

function countIn(passed: readonly number[], window: number, windowMs: number): number {
  return passed.filter((time) => Math.floor(time / windowMs) === window).length
}
