/** The four ways of limiting access (seed 004), as one port over four numbers per key. */

/**
 * What a limit says: at most `maxCount` in `seconds`; `burst` is the depth of a bucket (default `maxCount`). Both are at
 * least 1 and may have fractions: a process that has a third of a budget of 10 lets 3.33 through, in the long run.
 */
export interface LimitSettings {
  readonly algorithm: 'fixed-window' | 'sliding-window' | 'leaky-bucket' | 'token-bucket'
  readonly seconds: number
  readonly maxCount: number
  readonly burst?: number | undefined
}

/** One key's state: numbers whose meaning belongs to the algorithm. A key never seen is all zero. */
export interface LimitState {
  at: number
  a: number
  b: number
  c: number
}

/**
 * Tries to take one unit at `now` (ms): changes the state and returns 0 when it is allowed, else how many ms later it
 * would be. A refused try takes nothing, so that no key is blocked for ever, and who stays away for the limit's `seconds`
 * passes.
 */
export type LimitStep = (state: LimitState, now: number) => number

/** Share of a unit by which sums of fractions may miss: a unit that came back in many small parts is still a whole one. */
export const ROUNDING = 1e-9

/** The window of a limit in whole ms, at least 1: times of day and fractions of a ms do not go together in a double. */
export function windowMsOf({ seconds }: Pick<LimitSettings, 'seconds'>): number {
  return Math.max(1, Math.round(seconds * 1000))
}
