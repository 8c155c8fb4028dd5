import type { Figures, Policy, SkuState } from '@bigtap/domain'
import { NO_PRESSING, type Pacing, paceUnder } from './pacing.ts'

/** What a node knows of one SKU when it asks for places. Units; `demand` is what buyers wanted in one tick of 50 ms. */
export interface LeaseQuestion {
  readonly state: SkuState
  readonly policy: Policy
  readonly figures: Figures
  /** Leased and not granted yet. */
  readonly available: number
  /** Newest demand, smoothed (see `smoothDemand`). */
  readonly demand: number
  readonly nodes: number
  /** What lowers the pace; nothing when left out. */
  readonly pacing?: Pacing
}

/** What to ask the ledger for. */
export interface LeaseAnswer {
  readonly want: number
  readonly giveBack: number
  readonly pacePerSecond: number | null
}

/** Length of a tick. */
export const TICK_MS = 50
/** Places per node under which the pool is nearly empty: single places are leased, idle ones go back at once. */
const PLENTY_PER_NODE = 8
/** Places that a node without demand keeps ready while the pool is plentiful. */
const RESERVE_MAX = 32
/** Largest unpaced lease: what a node grants in a tick at 100 k grants/s. */
const LEASE_MAX = 5_000
/** A lease covers this many ticks of demand, so that it does not run dry between two replies. */
const COVER_TICKS = 2

/**
 * How many places a node wants and gives back, so that no buyer waits at a node while places lie idle at another:
 *
 * ```
 *   pool plentiful (> 8 per node)   want: demand x 2, at most half of a fair share, at least a small reserve
 *   pool nearly empty               want: one at a time, only while somebody asks; what nobody asks for goes back
 *   paced                           never more than two ticks of the cluster's pace, so that a late tick costs no pace;
 *                                   the ledger's bucket keeps the sum
 * ```
 */
export function planLease(question: LeaseQuestion): LeaseAnswer {
  const { state, policy, figures, available, demand, nodes, pacing = NO_PRESSING } = question
  const pacePerSecond = paceUnder(state, policy, pacing)
  if (!isReleasing(state))
    return { want: demand > 0 && state === 'exhausted' ? 1 : 0, giveBack: available, pacePerSecond }
  const cap = leaseCap(question, pacePerSecond)
  const need = Math.ceil(demand * COVER_TICKS)
  const target = Math.min(cap, Math.max(need, reserveOf(figures.pool, nodes)))
  const keep = Math.max(target, need)
  const excess = available - keep
  // With plenty in the pool a little too much is kept: giving back and leasing again would only cost calls.
  const isWorthIt = figures.pool <= nodes * PLENTY_PER_NODE || excess > keep
  return { want: Math.max(0, target - available), giveBack: excess > 0 && isWorthIt ? excess : 0, pacePerSecond }
}

/**
 * Below one unit demand fades by this a tick, for about three seconds: a lone buyer is told to come back in up to 1.2 s
 * and must then find the place that was leased for the first ask.
 */
const FADE = 0.95
const FADED = 0.05

/** Demand as the planner wants it: rises at once, falls by half each tick, and the last unit of it fades slowly. */
export function smoothDemand(before: number, wanted: number): number {
  const next = Math.max(wanted, before > 1 ? Math.max(1, before / 2) : before * FADE)
  return next < FADED ? 0 : next
}

function isReleasing(state: SkuState): boolean {
  return state === 'releasing' || state === 'tapering' || state === 'trickling'
}

function leaseCap({ state, figures, nodes }: LeaseQuestion, pacePerSecond: number | null): number {
  if (state === 'trickling' || figures.pool <= nodes * PLENTY_PER_NODE) return 1
  const fairHalf = Math.max(1, Math.floor(figures.pool / (2 * nodes)))
  const chunk =
    pacePerSecond === null ? LEASE_MAX : Math.max(1, Math.ceil((pacePerSecond * COVER_TICKS * TICK_MS) / 1000))
  return Math.min(fairHalf, chunk)
}

/** A lone node cannot starve another: it always keeps something ready. */
function reserveOf(pool: number, nodes: number): number {
  if (nodes > 1 && pool <= nodes * PLENTY_PER_NODE) return 0
  return Math.max(1, Math.min(RESERVE_MAX, Math.floor(pool / (PLENTY_PER_NODE * nodes))))
}
