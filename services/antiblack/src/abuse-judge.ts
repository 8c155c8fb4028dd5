/** What the service asks of its core, and what it does with the verdicts: withheld, or put where they wait to be said. */

import type { AbuseVerdict } from '@bigtap/domain'
import { encodeAbuseVerdicts } from '@bigtap/protocol'
import type { AbuseCounters, AbuseEngine } from './core/engine.ts'
import type { Refusal, StandingVerdicts } from './standing-verdicts.ts'
import type { VerdictOutbox } from './verdict-outbox.ts'

/** The core as the service sees it. */
export type Engine = Pick<
  AbuseEngine,
  'configure' | 'observe' | 'tick' | 'explain' | 'forget' | 'restore' | 'size' | 'bytes'
> & { readonly counters: Pick<AbuseCounters, 'dropped' | 'outOfTime'> }

/** Why a verdict is not said; `malformed`: no limiter could read it. */
export type Withheld = Refusal | 'malformed'
/** All reasons. */
export const WITHHELD: readonly Withheld[] = ['standing', 'operator', 'mercy', 'malformed']

/** Collaborators. */
export interface JudgeParts {
  readonly engine: Pick<Engine, 'tick' | 'forget'>
  readonly standing: StandingVerdicts
  readonly outbox: VerdictOutbox
  onWithheld(why: Withheld): void
}

/** One round: returns how many verdicts are to be said. */
export function judge({ engine, standing, outbox, onWithheld }: JudgeParts, now: number): number {
  let count = 0
  for (const verdict of engine.tick(now)) {
    const why = isSayable(verdict) ? standing.refusal(verdict, now) : 'malformed'
    if (why === undefined) {
      outbox.push(verdict)
      count++
      continue
    }
    onWithheld(why)
    // Else the engine took it for said, and would be silent when the mercy is over; and old evidence would count then.
    if (why === 'mercy' || why === 'operator') engine.forget(verdict)
  }
  return count
}

/** One that cannot be written would stop all others behind it. */
function isSayable(verdict: AbuseVerdict): boolean {
  try {
    return encodeAbuseVerdicts({ from: 0, verdicts: [verdict] }).length > 0
  } catch {
    return false
  }
}
