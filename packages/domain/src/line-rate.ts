/** How fast a line moves: Middle tells it to those who wait, master to everybody. Pure. */

/** How fast a line moves, as its cursor tells it. */
export interface LineRate {
  readonly cursor: number
  readonly at: number
  readonly perSecond: number
}

/** The rate is measured this often, and half of it is the newest measurement. */
const SAMPLE_MS = 1_000
const NEWEST = 0.5

/** Measures on by the newest cursor; a line that begins anew is measured anew. */
export function stepLineRate(before: LineRate | undefined, cursor: number, now: number): LineRate {
  if (before === undefined || cursor < before.cursor || now < before.at) return { cursor, at: now, perSecond: 0 }
  const elapsedMs = now - before.at
  if (elapsedMs < SAMPLE_MS) return before
  const sample = ((cursor - before.cursor) * 1_000) / elapsedMs
  const perSecond = before.perSecond === 0 ? sample : before.perSecond * (1 - NEWEST) + sample * NEWEST
  return { cursor, at: now, perSecond: perSecond < 0.01 ? 0 : perSecond }
}
