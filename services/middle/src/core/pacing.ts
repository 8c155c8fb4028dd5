/** The pace in force: the policy's, lowered by the pressure of cart, counter and order. Pure. */

import { type Figures, type Policy, paceOf, type SkuState } from '@bigtap/domain'

/** What lowers the paces: the factor of document `pressure`, and what a SKU without a pace sold when nothing pressed. */
export interface Pacing {
  readonly factor: number
  /** Units per second of the whole cluster. */
  readonly unpacedPerSecond: number
}

/** How fast the cluster grants a SKU, as the ledger's figures tell it. Times in ms since the epoch. */
export interface GrantRate extends Pacing {
  readonly granted: number
  readonly at: number
  /** The fastest lately. */
  readonly perSecond: number
}

/** Nothing presses. */
export const NO_PRESSING: Pacing = { factor: 1, unpacedPerSecond: 0 }
/** A SKU without a pace of its own gets no less and no more than this, times the factor. */
export const UNPACED = { least: 20, most: 100_000 } as const

/** The rate is measured this often; ten lease calls of a busy node. */
const SAMPLE_MS = 250
/** A peak halves in about 1.6 s: a lull of a second does not hide how fast the SKU sells. */
const FADE = 0.9

/**
 * Units per second of the whole cluster; null is no pace. Under pressure a SKU without a pace has one too: what it sold
 * before the pressure, times the factor. Else back-pressure would do nothing for the fastest sales.
 */
export function paceUnder(state: SkuState, policy: Policy, { factor, unpacedPerSecond }: Pacing): number | null {
  const pace = paceOf(state, policy)
  if (factor >= 1) return pace
  return (pace ?? Math.min(UNPACED.most, Math.max(UNPACED.least, unpacedPerSecond))) * factor
}

/**
 * Measures on by the newest figures. While something presses the last rate without pressure stands, else the pace would
 * follow its own shadow down; a node that came later infers it from what the factor leaves.
 */
export function stepGrantRate(before: GrantRate | undefined, figures: Figures, now: number, factor: number): GrantRate {
  const granted = figures.outstanding + figures.redeemed
  if (before === undefined || now < before.at) return { granted, at: now, perSecond: 0, factor, unpacedPerSecond: 0 }
  const elapsedMs = now - before.at
  if (elapsedMs < SAMPLE_MS) return before.factor === factor ? before : { ...before, factor }
  const sample = (Math.max(0, granted - before.granted) * 1_000) / elapsedMs
  const perSecond = Math.max(sample, before.perSecond * FADE)
  const inferred = perSecond / Math.min(1, factor)
  const isKnown = factor < 1 && before.unpacedPerSecond > 0
  return { granted, at: now, perSecond, factor, unpacedPerSecond: isKnown ? before.unpacedPerSecond : inferred }
}
