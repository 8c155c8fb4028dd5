import { type LimitSettings, type LimitStep, ROUNDING, windowMsOf } from './algorithm.ts'

/**
 * At most about `maxCount` in any `seconds`, by two counters: the last window's count fades as the present one goes on
 * (Cloudflare, "How we built rate limiting", 2017). The estimate takes the last window's accesses for spread out; when none
 * of them lies in the last `seconds` they do not count at all, else a limit of 1 would last two windows.
 * State: `at` window, `a` its count, `b` the count before it, `c` ms of the last access.
 *
 * ```
 *   before (b)      now (a)
 *   |───────────|───▒▒▒|        estimate = b x (1 - elapsed share) + a
 * ```
 */
export function slidingWindow(settings: LimitSettings): LimitStep {
  const { maxCount } = settings
  const windowMs = windowMsOf(settings)
  const most = maxCount + ROUNDING
  return (state, now) => {
    const window = Math.floor(now / windowMs)
    if (window !== state.at) {
      state.b = window === state.at + 1 ? state.a : 0
      state.a = 0
      state.at = window
    }
    const share = (now - window * windowMs) / windowMs
    const silentMs = state.c + windowMs - now
    const before = silentMs <= 0 ? 0 : state.b
    if (before * (1 - share) + state.a + 1 <= most) {
      state.a++
      state.c = now
      return 0
    }
    const fadedMs = Math.ceil((shareOfPass(state.a, before, most) - share) * windowMs)
    return Math.max(1, Math.min(fadedMs, silentMs))
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
