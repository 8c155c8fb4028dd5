/** Who must solve a challenge before the hidden path is given. */

import { Fields, type Parsed } from './checks.ts'

/** `off`: nobody; `suspicious`: who is graded worse than tier 1; `all`: everybody. */
export type ChallengeMode = 'off' | 'suspicious' | 'all'

/** Terms of the challenges of an activity. */
export interface ChallengeDoc {
  readonly mode: ChallengeMode
  /** Asked from so many seconds before the opening on, so that it is solved before the rush. */
  readonly fromSeconds: number
  /** Work of tier 0 in tries of the proof; each tier doubles it. */
  readonly tries: number
  /** Who has solved one has passed for so long, seconds. */
  readonly passSeconds: number
  /** Who cannot compute waits so many seconds instead: the way without a script. */
  readonly waitSeconds: number
}

/** Nobody is asked. */
export const NO_CHALLENGE: ChallengeDoc = {
  mode: 'off',
  fromSeconds: 600,
  tries: 20_000,
  passSeconds: 1_800,
  waitSeconds: 20,
}

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
