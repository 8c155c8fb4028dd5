import type { LimitSettings, LimitStep } from './algorithm.ts'

/**
 * A bucket of depth `burst` that leaks `maxCount` per `seconds`; each access pours one unit in. The level is a real
 * number, so that it leaks however often it is looked at (seed 000's rounds the leak down to nothing).
 * State: `at` ms of the last look, `a` level.
 */
export function leakyBucket({ seconds, maxCount, burst = maxCount }: LimitSettings): LimitStep {
  const leakPerMs = maxCount / (seconds * 1000)
  return (state, now) => {
    const leaked = Math.max(0, now - state.at) * leakPerMs
    state.a = Math.max(0, state.a - leaked)
    state.at = Math.max(now, state.at)
    if (state.a + 1 > burst + 1e-9) return Math.max(1, Math.ceil((state.a + 1 - burst) / leakPerMs))
    state.a++
    return 0
  }
}
