/** The grade of a request: the worst of what the rules here, the verdicts in force and the profile say. */

import { BLOCKED_TIER, type Tier } from '@bigtap/domain'
import type { Profile, VerdictBook } from './ports.ts'
import type { Requester } from './requester.ts'

/** The rules of this process, counted over the last moments. */
export interface Rules {
  tierOf(who: Requester, now: number): Tier
  strike(who: Requester, flags: number, now: number): void
}

/** Grades requests. */
export class Grader {
  readonly #rules: Rules
  readonly #verdicts: VerdictBook
  readonly #profile: Profile

  constructor(parts: { rules: Rules; verdicts: VerdictBook; profile: Profile }) {
    this.#rules = parts.rules
    this.#verdicts = parts.verdicts
    this.#profile = parts.profile
  }

  /** The tier of a request, which is also noted in it. */
  grade(who: Requester, now: number): Tier {
    const ruled = this.#rules.tierOf(who, now)
    const said = this.#verdicts.tierOf(who.uid, who.address, who.subnet, who.device, now)
    const known = who.uid === 0 ? 0 : this.#profile.tierOf(who.uid)
    const tier = Math.max(ruled, said, known) as Tier
    who.tier = tier
    return tier
  }

  /** Something odd was seen of the request, bits of ACCESS_FLAG. */
  strike(who: Requester, flags: number, now: number): void {
    this.#rules.strike(who, flags, now)
  }

  /** Is there an enforced verdict that shuts this buyer out? Rules and profile never do. */
  isBlocked(who: Requester, now: number): boolean {
    if (who.uid === 0 || who.tier < BLOCKED_TIER) return false
    const verdict = this.#verdicts.verdictOf(who.uid, now)
    return verdict !== undefined && verdict.tier >= BLOCKED_TIER && !verdict.isShadow && now < verdict.expiresAt
  }
}
