import type { LimitSettings, LimitStep } from './algorithm.ts'

/**
 * At most about `maxCount` in any `seconds`, by two counters: the last window's count fades as the present one goes on
 * (Cloudflare, "How we built rate limiting", 2017). State: `at` window, `a` its count, `b` the count before it.
 *
 * ```
 *   before (b)      now (a)
 *   |───────────|───▒▒▒|        estimate = b x (1 - elapsed share) + a
 * ```
 */
export function slidingWindow({ seconds, maxCount }: LimitSettings): LimitStep {
  const windowMs = seconds * 1000
  return (state, now) => {
    const window = Math.floor(now / windowMs)
    if (window !== state.at) {
      state.b = window === state.at + 1 ? state.a : 0
      state.a = 0
      state.at = window
    }
    const elapsed = (now - window * windowMs) / windowMs
    if (state.b * (1 - elapsed) + state.a + 1 <= maxCount) {
      state.a++
      return 0
    }
    return Math.max(1, Math.ceil(waitMs(state.a, state.b, elapsed)))

    function waitMs(count: number, before: number, share: number): number {
      // In this window the old count fades until before x (1 - share) = maxCount - 1 - count; else in the next one,
      // where the present count has become the old one.
      const room = maxCount - 1 - count
      if (room >= 0 && before > 0) return (1 - room / before - share) * windowMs
      return (1 - share + Math.max(0, 1 - (maxCount - 1) / count)) * windowMs
    }
  }
}
