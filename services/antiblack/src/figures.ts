/** What antiblack tells dcacenter: how much it reads, how late, and what it says. */

import type { Antiblack } from './antiblack.ts'

/** All figures; counters as they stand, `accessLagMs` the largest since the look before. */
export function figuresOf({ intake, standing, outbox, engine, said, lag }: Antiblack): Record<string, number> {
  const { undecodable, stale, ahead, failed } = intake.skipped
  const byTier = said.map((count, tier) => [`verdicts.${tier}`, count] as const)
  return {
    ...{ accessEvents: intake.events, accessLagMs: Math.max(0, Math.round(intake.takeLagMs())), accessWaiting: lag() },
    ...{ accessStale: stale, accessBad: undecodable + ahead + failed },
    ...{ verdicts: said.reduce((sum, count) => sum + count, 0), verdictsInForce: standing.size },
    ...{ verdictsWaiting: outbox.size, verdictsDropped: outbox.dropped, subjects: engine.size },
    ...Object.fromEntries(byTier),
  }
}
