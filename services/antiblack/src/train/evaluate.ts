/** How the whole engine, rules and model, does on a labelled log. */

import type { AbuseModelDoc, AbuseRulesDoc, Tier } from '@bigtap/domain'
import { BLOCKED_TIER } from '@bigtap/domain'
import type { AccessColumns } from '@bigtap/protocol'
import { AbuseEngine, DEFAULT_ABUSE_LIMITS } from '../core/engine.ts'
import type { LabelledLog } from './labelled-log.ts'
import { replay } from './samples.ts'

/** What became of the buyers of one profile. */
export interface ProfileResult {
  isAbusive: boolean
  buyers: number
  /** By the worst tier that a verdict gave each. */
  readonly tiers: number[]
}

/** Results by profile. */
export type Results = Map<string, ProfileResult>

/** From this tier on abuse counts as caught: it falls before everybody else. */
export const CAUGHT_TIER: Tier = 4

/** Who is granted a unit, or finds all sold, with fewer requests than this has shown nothing yet that could be caught. */
export const JUDGED_ASKS_MIN = 5

/** Replays a log through a new engine and adds what became of each labelled buyer to `results`; abusers with fewer than JUDGED_ASKS_MIN requests are left out. */
export function evaluate(log: LabelledLog, rules: AbuseRulesDoc, model: AbuseModelDoc | null, results: Results): void {
  const engine = new AbuseEngine({ ...DEFAULT_ABUSE_LIMITS, verdictsPerTick: 10_000 })
  engine.configure(rules, model)
  const worst = new Map<number, Tier>()
  const asks = new Map<number, number>()
  const observe = (batch: AccessColumns) => {
    for (const uid of batch.uid.subarray(0, batch.rows)) asks.set(uid, (asks.get(uid) ?? 0) + 1)
    engine.observe(batch)
  }
  replay(log, { observe }, (now) => {
    for (const { kind, key, tier } of engine.tick(now)) {
      if (kind === 'uid' && tier > (worst.get(Number(key)) ?? 0)) worst.set(Number(key), tier)
    }
  })
  for (const { uid, profile, isAbusive } of log.labels.values()) {
    if ((asks.get(uid) ?? 0) < (isAbusive ? JUDGED_ASKS_MIN : 1)) continue
    const result = results.get(profile) ?? { isAbusive, buyers: 0, tiers: [0, 0, 0, 0, 0, 0] }
    results.set(profile, result)
    const tier = worst.get(uid) ?? 0
    result.buyers++
    result.tiers[tier] = (result.tiers[tier] ?? 0) + 1
  }
}

/** Share of the buyers of some profiles that were graded `tier` or worse, 0..1. */
export function shareFrom(
  results: Results,
  tier: Tier,
  of: (profile: string, result: ProfileResult) => boolean,
): number {
  const chosen = [...results].filter(([profile, result]) => of(profile, result))
  const buyers = chosen.reduce((sum, [, one]) => sum + one.buyers, 0)
  const graded = chosen.reduce((sum, [, { tiers }]) => sum + tiers.slice(tier).reduce((all, one) => all + one, 0), 0)
  return buyers === 0 ? 0 : graded / buyers
}

/** Share of those who are no abusers and were blocked, 0..1. */
export function wronglyBlocked(results: Results): number {
  return shareFrom(results, BLOCKED_TIER, (_, { isAbusive }) => !isAbusive)
}

/** A table for people: each profile by tier. */
export function describeResults(results: Results): string[] {
  const head = ['profile    buyers  tier0  tier1  tier2  tier3  tier4  tier5   >=4     =5']
  const rows = [...results].map(([profile, { buyers, tiers }]) => {
    const part = (from: Tier) => tiers.slice(from).reduce((sum, one) => sum + one, 0) / Math.max(1, buyers)
    const percent = (share: number) => `${(share * 100).toFixed(1)}%`.padStart(7)
    const counts = tiers.map((count) => String(count).padStart(7)).join('')
    return `${profile.padEnd(10)}${String(buyers).padStart(7)}${counts}${percent(part(CAUGHT_TIER))}${percent(part(BLOCKED_TIER))}`
  })
  return [...head, ...rows]
}
