/** What antiblack tells dcacenter: how much it reads, how late, and what it says. */

import type { Antiblack } from './antiblack.ts'

/** Looks of one minute: figures are pushed each second. */
const LOOKS = 60

/** Makes the reader of all figures; counters as they stand, `accessLagMs` the largest since the look before. */
export function createFigures(antiblack: Antiblack): () => Record<string, number> {
  const { intake, standing, outbox, engine, said, lag, fallen } = antiblack
  const looks: number[] = []
  return () => {
    const { undecodable, stale, ahead, failed } = intake.skipped
    const total = antiblack.blocked()
    const before = looks[0] ?? total
    looks.push(total)
    if (looks.length > LOOKS) looks.shift()
    return {
      ...{ accessEvents: intake.events, accessLagMs: Math.round(intake.takeLagMs()), accessWaiting: lag() },
      ...{ accessStale: stale, accessBad: undecodable + ahead + failed, accessFallen: fallen() },
      ...{ verdicts: said.reduce((sum, count) => sum + count, 0), verdictsInForce: standing.size },
      ...{ verdictsWaiting: outbox.size, verdictsDropped: outbox.dropped, subjects: engine.size },
      ...{ blockedLastMinute: total - before },
      ...Object.fromEntries(said.map((count, tier) => [`verdicts.${tier}`, count])),
    }
  }
}
