/** Who must solve a challenge before the hidden path is given. */

import type { Tier } from './abuse.ts'
import { Fields, type Parsed } from './checks.ts'

/** `off`: nobody; `suspicious`: who is graded worse than tier 1; `all`: everybody. */
export type ChallengeMode = 'off' | 'suspicious' | 'all'

/** Terms of the challenges of an activity. */
export interface ChallengeDoc {
  readonly mode: ChallengeMode
  /** Asked from so many seconds before the opening on, so that it is solved before the rush. */
  readonly fromSeconds: number
  /** Work of tier 0 in tries of the proof, on average; each tier doubles it. */
  readonly tries: number
  /** Who has solved one has passed for so long, seconds. */
  readonly passSeconds: number
  /** Who cannot compute waits so many seconds instead: the way without a script. */
  readonly waitSeconds: number
}

/** Nobody is asked. 20,000 tries are a blink on a desktop and half a second on an old phone. */
export const NO_CHALLENGE: ChallengeDoc = {
  mode: 'off',
  fromSeconds: 600,
  tries: 20_000,
  passSeconds: 1_800,
  waitSeconds: 20,
}

/** Best tier that is asked in mode `suspicious`. */
const SUSPICIOUS_TIER = 2
/** A wait grows fourfold at most: a tier may be a neighbour's fault, and who waits has no other way. */
const WAIT_FACTOR_MAX = 4

/** Reads the terms of challenges; what they do not name has the default. */
export function parseChallenge(value: unknown, path = ''): Parsed<ChallengeDoc> {
  const fields = new Fields(value, path)
  const { mode, fromSeconds, tries, passSeconds, waitSeconds } = NO_CHALLENGE
  return fields.done({
    mode: fields.oneOf('mode', ['off', 'suspicious', 'all'] as const, mode),
    fromSeconds: fields.number('fromSeconds', { min: 0, max: 86_400, initial: fromSeconds }),
    tries: fields.number('tries', { min: 100, max: 10_000_000, initial: tries }),
    passSeconds: fields.number('passSeconds', { min: 60, max: 86_400, initial: passSeconds }),
    waitSeconds: fields.number('waitSeconds', { min: 5, max: 600, initial: waitSeconds }),
  })
}

/** Is a buyer of this tier asked at `now`? Times in ms since the epoch. */
export function isChallenged({ mode, fromSeconds }: ChallengeDoc, tier: Tier, opensAt: number, now: number): boolean {
  if (mode === 'off' || now < opensAt - fromSeconds * 1_000) return false
  return mode === 'all' || tier >= SUSPICIOUS_TIER
}

/** Tries that a challenge of this tier takes on average. */
export function triesOf({ tries }: ChallengeDoc, tier: Tier): number {
  return tries * 2 ** tier
}

/** Seconds that a buyer of this tier waits instead. */
export function waitSecondsOf({ waitSeconds }: ChallengeDoc, tier: Tier): number {
  return waitSeconds * Math.min(WAIT_FACTOR_MAX, 2 ** tier)
}
