/** How many wait for a SKU, and when each of them is told to come back. Pure. */

import type { SkuTable } from './sku-table.ts'

/** What was seen since the last look: asks answered as queued, and how long they were told to stay away in all. */
export interface CrowdFacts {
  readonly queued: number
  readonly toldMs: number
  readonly elapsedMs: number
  /** The estimate before. */
  readonly waiting: number
}

/** The crowd is looked at this often. */
export const LOOK_EVERY_MS = 500
/** Nobody is told to stay away for longer: 20,000 who wait for one SKU are 1,000 asks a second then. */
export const RETRY_MS_MAX = 20_000
/** Nor for less. */
const RETRY_MS_MIN = 50
/** An estimate moves by this part of the way a look, and jumps only where it is off by more than a factor of two. */
const SMOOTH = 0.1

/**
 * Those who wait = how often they ask x how long they stay away (Little, 1961), but no more than there were before and
 * those who asked since: a crowd that has just come has not been away for as long as it was told.
 */
export function estimateWaiting({ queued, toldMs, elapsedMs, waiting }: CrowdFacts): number {
  const seen = Math.min(toldMs / Math.max(1, elapsedMs), waiting + queued)
  return seen > waiting * 2 ? seen : waiting + (seen - waiting) * SMOOTH
}

/**
 * When the next queued buyer is to ask again, given what the one before was told. Returns are spread evenly, `perSecond` of
 * them, so that a place never waits for its buyer: a crowd that is told one and the same time comes back as one wave, and
 * between two waves the pace finds nobody (0 grants in seconds where 500 were due; bench/pace).
 *
 * ```
 *   told   |··············|··············|      a place in time for each, one behind the other …
 *          now+shortest          now + 20 s
 *   more   |::::::::······|                     … and when 20 s are full, a second layer from the front, twice as dense
 * ```
 */
export function nextReturn(last: number, now: number, perSecond: number, shortestMs: number): number {
  const first = now + Math.max(RETRY_MS_MIN, shortestMs)
  const next = last + 1_000 / Math.max(1, perSecond)
  return next > now + RETRY_MS_MAX ? first : Math.max(first, next)
}

/** Gives a queued buyer the next return and counts it; how long to stay away, whole ms. */
export function tellReturn(skus: SkuTable, sku: number, now: number): number {
  const [last, perSecond] = [skus.returnAt[sku] as number, skus.returnsPerSecond[sku] as number]
  const at = nextReturn(last, now, perSecond, skus.retryAfterMs[sku] as number)
  const awayMs = Math.ceil(at - now)
  skus.returnAt[sku] = at
  skus.queued[sku] = (skus.queued[sku] as number) + 1
  skus.toldMs[sku] = (skus.toldMs[sku] as number) + awayMs
  return awayMs
}
