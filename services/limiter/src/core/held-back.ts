/** Where the quickest are served first, those graded as machines get no more tries than a person. */

import type { ActivityDoc } from '@bigtap/domain'
import { createLimiter, type KeyedLimiter } from '@bigtap/kernel'
import type { Requester } from './requester.ts'

/** From this tier on a buyer is held back. */
export const HELD_BACK_TIER = 4
/** One try in so many seconds: a person who waits as told comes back about as often. */
export const HELD_BACK_SECONDS = 5
/** Buyers that are remembered, 6 MB; the one held back longest ago is forgotten. */
export const HELD_BACK_MAX = 50_000

/**
 * Holds back who was graded 4 or worse and is not blocked: a script that asks four times a second has twenty tries where a
 * person has one, and it need not be overloaded here for that. Only with `direct` admission: in a line, trying more often
 * gains nothing. The first try always passes, and each window ends.
 */
export class HeldBack {
  count = 0
  readonly #limiter: KeyedLimiter = createLimiter({
    ...{ algorithm: 'fixed-window', seconds: HELD_BACK_SECONDS, maxCount: 1 },
    keysMax: HELD_BACK_MAX,
  })

  /** How long until the next try, ms; 0: this one may go on. */
  take({ uid, tier }: Requester, { admission }: ActivityDoc, now: number): number {
    if (tier < HELD_BACK_TIER || admission !== 'direct') return 0
    const waitMs = this.#limiter.take(uid, now)
    if (waitMs > 0) this.count++
    return waitMs
  }
}
