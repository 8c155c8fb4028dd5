import type { LimitSettings, LimitStep } from './algorithm.ts'

/**
 * A bucket that holds at most `burst` tokens and gains `maxCount` per `seconds`; each access takes one. State: `at` ms of
 * the last look, `a` tokens that are missing from a full bucket (so that a key never seen starts full).
 */
export function tokenBucket({ seconds, maxCount, burst = maxCount }: LimitSettings): LimitStep {
  const gainPerMs = maxCount / (seconds * 1000)
  return (state, now) => {
    const gained = Math.max(0, now - state.at) * gainPerMs
    state.a = Math.max(0, state.a - gained)
    state.at = Math.max(now, state.at)
    const tokens = burst - state.a
    if (tokens < 1 - 1e-9) return Math.max(1, Math.ceil((1 - tokens) / gainPerMs))
    state.a++
    return 0
  }
}
