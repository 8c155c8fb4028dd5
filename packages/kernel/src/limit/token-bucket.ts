import { type LimitSettings, type LimitStep, ROUNDING, windowMsOf } from './algorithm.ts'

/**
 * A bucket that holds at most `burst` tokens and gains `maxCount` per `seconds`; each access takes one. State: `at` ms of
 * the last look, `a` tokens that are missing from a full bucket (so that a key never seen starts full).
 */
export function tokenBucket(settings: LimitSettings): LimitStep {
  const { maxCount, burst = maxCount } = settings
  const gainPerMs = maxCount / windowMsOf(settings)
  return (state, now) => {
    const gained = Math.max(0, now - state.at) * gainPerMs
    state.a = Math.max(0, Math.min(state.a, burst) - gained) // more missing than it holds: the limit was lowered
    state.at = now // also when the clock went back: it gains on from there, instead of waiting for the old time
    const lacking = 1 - (burst - state.a) - ROUNDING
    if (lacking > 0) return Math.max(1, Math.ceil(lacking / gainPerMs))
    state.a++
    return 0
  }
}
