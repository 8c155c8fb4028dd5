import { type LimitSettings, type LimitStep, windowMsOf } from './algorithm.ts'

/** At most `maxCount` in each window of `seconds`; windows are aligned to the epoch. State: `at` window, `a` count. */
export function fixedWindow(settings: LimitSettings): LimitStep {
  const { maxCount } = settings
  const windowMs = windowMsOf(settings)
  return (state, now) => {
    const window = Math.floor(now / windowMs)
    if (state.at !== window) {
      state.at = window
      state.a = 0
    }
    if (state.a >= maxCount) return Math.max(1, (window + 1) * windowMs - now)
    state.a++
    return 0
  }
}
