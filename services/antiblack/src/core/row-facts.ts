/** What one row of the request log says, as bits: one per count of ABUSE_COUNTS. */

import { ABUSE_COUNTS, type AbuseCount } from '@bigtap/domain'
import { ACCESS_FLAG, ACCESS_OUTCOME } from '@bigtap/protocol'

/** Place of each count in ABUSE_COUNTS. */
export const COUNT = Object.fromEntries(ABUSE_COUNTS.map((name, index) => [name, index])) as Readonly<
  Record<AbuseCount, number>
>

const FORGED = ACCESS_FLAG.badSignature | ACCESS_FLAG.foreignTicket | ACCESS_FLAG.badChallenge
const LAST_WORDS: readonly number[] = [ACCESS_OUTCOME.granted, ACCESS_OUTCOME.soldOut, ACCESS_OUTCOME.refused]

/**
 * Bits of the counts that outcome and flags name by themselves; `asks` is always one. That somebody was blocked or shed is
 * not counted: a verdict must not be the reason for the next one.
 */
export function factsOf(outcome: number, flags: number): number {
  let facts = 1 << COUNT.asks
  if (outcome === ACCESS_OUTCOME.rateLimited) facts |= 1 << COUNT.rateLimited
  if (outcome === ACCESS_OUTCOME.notStarted || (flags & ACCESS_FLAG.early) !== 0) facts |= 1 << COUNT.early
  if (outcome === ACCESS_OUTCOME.notFound || outcome === ACCESS_OUTCOME.badRequest) facts |= 1 << COUNT.unknown
  if ((flags & ACCESS_FLAG.expiredTicket) !== 0) facts |= 1 << COUNT.expired
  if ((flags & FORGED) !== 0) facts |= 1 << COUNT.forged
  if ((flags & ACCESS_FLAG.impossibleTiming) !== 0) facts |= 1 << COUNT.impossible
  if ((flags & ACCESS_FLAG.honeypot) !== 0) facts |= 1 << COUNT.honeypot
  return facts
}

/** Was the answer the last word on the product? Who asks on has not read it. */
export function isLastWord(outcome: number): boolean {
  return LAST_WORDS.includes(outcome)
}
