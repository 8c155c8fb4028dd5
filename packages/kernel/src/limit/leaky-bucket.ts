import { type LimitSettings, type LimitStep, ROUNDING, windowMsOf } from './algorithm.ts'

/**
 * A bucket of depth `burst` that leaks `maxCount` per `seconds`; each access pours one unit in. The level is a real
 * number, so that it leaks however often it is looked at (seed 000's rounds the leak down to nothing).
 * State: `at` ms of the last look, `a` level.
 */
export function leakyBucket(settings: LimitSettings): LimitStep {
  const { maxCount, burst = maxCount } = settings
  const leakPerMs = maxCount / windowMsOf(settings)
  return (state, now) => {
    const leaked = Math.max(0, now - state.at) * leakPerMs
    state.a = Math.max(0, Math.min(state.a, burst) - leaked) // fuller than it is deep: the limit was lowered
    state.at = now // also when the clock went back: it leaks on from there, instead of waiting for the old time
    const excess = state.a + 1 - burst - ROUNDING
    if (excess > 0) return Math.max(1, Math.ceil(excess / leakPerMs))
    state.a++
    return 0
  }
}
