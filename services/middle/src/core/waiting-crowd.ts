/** How many wait for a SKU, and when they are told to come back. Pure. */

/** What was seen since the last look. `retryAfterMs` is what those who ask now were told before. */
export interface CrowdFacts {
  readonly queued: number
  readonly elapsedMs: number
  readonly retryAfterMs: number
  /** The estimate before. */
  readonly waiting: number
}

/** The crowd is looked at this often. */
export const LOOK_EVERY_MS = 500
/** Nobody is told to stay away for longer. */
export const RETRY_MS_MAX = 10_000
/**
 * An old estimate fades by this much a look: those who were told 10 s all come back in one wave, and the pause before it
 * must not be taken for an empty shop (0.97^20 is 0.54).
 */
const FADE = 0.97

/** Everybody who waits asks once in `retryAfterMs`, so the rate of asks tells how many they are. */
export function estimateWaiting({ queued, elapsedMs, retryAfterMs, waiting }: CrowdFacts): number {
  const seen = (queued / Math.max(1, elapsedMs)) * retryAfterMs
  return Math.max(seen, waiting * FADE)
}

/** The wait at which the whole crowd asks `queuedPerSecond` times a second, within its bounds. */
export function retryFor(waiting: number, queuedPerSecond: number, retryMsMin: number): number {
  return Math.min(RETRY_MS_MAX, Math.max(retryMsMin, Math.round((waiting / queuedPerSecond) * 1000)))
}
