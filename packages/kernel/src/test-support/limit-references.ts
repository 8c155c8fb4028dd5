/** The four limits again, as slow and as obvious as can be: whole numbers only, every access remembered. */

import type { LimitSettings } from '../limit/algorithm.ts'

/** Gives the times that pass, of all times (ms after the start, in order). */
export type Reference = (settings: LimitSettings, startMs: number, times: readonly number[]) => number[]

/** The reference of each algorithm. */
export const REFERENCES: Readonly<Record<LimitSettings['algorithm'], Reference>> = {
  'fixed-window': ({ seconds, maxCount }, startMs, times) => {
    const windowMs = Math.round(seconds * 1000)
    return filterByHistory(
      times,
      (at, passed) => countIn(passed, startMs, windowOf(startMs + at, windowMs), windowMs) < maxCount,
    )
  },
  'sliding-window': ({ seconds, maxCount }, startMs, times) => {
    const windowMs = Math.round(seconds * 1000)
    return filterByHistory(times, (at, passed) => {
      const window = windowOf(startMs + at, windowMs)
      const leftMs = (window + 1) * windowMs - (startMs + at)
      const before = countIn(passed, startMs, window - 1, windowMs)
      const now = countIn(passed, startMs, window, windowMs)
      return before * leftMs + (now + 1) * windowMs <= maxCount * windowMs
    })
  },
  'leaky-bucket': bucket,
  'token-bucket': bucket,
}

/** Both buckets let the same through. The level is counted in 1 / windowMs of a unit, so that each ms leaks `maxCount`. */
function bucket(
  { seconds, maxCount, burst = maxCount }: LimitSettings,
  _startMs: number,
  times: readonly number[],
): number[] {
  const windowMs = Math.round(seconds * 1000)
  let level = 0
  let lastMs = 0
  return times.filter((at) => {
    for (; lastMs < at; lastMs++) level = Math.max(0, level - maxCount)
    if (level + windowMs > burst * windowMs) return false
    level += windowMs
    return true
  })
}

function filterByHistory(
  times: readonly number[],
  passes: (at: number, passed: readonly number[]) => boolean,
): number[] {
  const passed: number[] = []
  for (const at of times) if (passes(at, passed)) passed.push(at)
  return passed
}

function countIn(passed: readonly number[], startMs: number, window: number, windowMs: number): number {
  return passed.filter((at) => windowOf(startMs + at, windowMs) === window).length
}

function windowOf(now: number, windowMs: number): number {
  return Math.floor(now / windowMs)
}
