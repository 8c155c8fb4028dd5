import { type LimitSettings, type LimitStep, windowMsOf } from './algorithm.ts'

/**
 * At most `maxCount` in each window of `seconds`; windows are aligned to the epoch. Of a fractional `maxCount` the parts
 * come together: 2.5 is 2, 3, 2, 3 … State: `at` window, `a` count.
 */
export function fixedWindow(settings: LimitSettings): LimitStep {
  const windowMs = windowMsOf(settings)
  const whole = Math.floor(settings.maxCount)
  const part = settings.maxCount - whole
  const quotaOf = (window: number) => whole + Math.floor((window + 1) * part) - Math.floor(window * part)
  return (state, now) => {
    const window = Math.floor(now / windowMs)
    if (state.at !== window) {
      state.at = window
      state.a = 0
    }
    if (state.a >= quotaOf(window)) return Math.max(1, (window + 1) * windowMs - now)
    state.a++
    return 0
  }
}
