import { type LimitSettings, type LimitStep, ROUNDING, windowMsOf } from './algorithm.ts'

/**
 * At most about `maxCount` in any `seconds`, by two counters: the last window's count fades as the present one goes on
 * (Cloudflare, "How we built rate limiting", 2017). State: `at` window, `a` its count, `b` the count before it.
 *
 * ```
 *   before (b)      now (a)
 *   |───────────|───▒▒▒|        estimate = b x (1 - elapsed share) + a
 * ```
 */
export function slidingWindow(settings: LimitSettings): LimitStep {
  const { maxCount } = settings
  const windowMs = windowMsOf(settings)
  return (state, now) => {
    const window = Math.floor(now / windowMs)
    if (window !== state.at) {
      state.b = window === state.at + 1 ? state.a : 0
      state.a = 0
      state.at = window
    }
    const share = (now - window * windowMs) / windowMs
    if (state.b * (1 - share) + state.a + 1 <= maxCount + ROUNDING) {
      state.a++
      return 0
    }
    return Math.max(1, Math.ceil((shareOfPass(state.a, state.b, maxCount) - share - ROUNDING) * windowMs))
  }
}

/**
 * When the next access passes, in windows from the start of the present one: in it, once the count before has faded to
 * the room that is left; else in the next one, where the present count is the one that fades.
 */
function shareOfPass(count: number, before: number, maxCount: number): number {
  const room = maxCount - 1 - count
  return room >= 0 ? 1 - room / before : 2 - (maxCount - 1) / count
}
