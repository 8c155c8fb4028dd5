import type { Figures, Policy, SkuState } from '@bigtap/domain'
import { NO_PRESSING, type Pacing, paceUnder } from './pacing.ts'

/** What a node knows of one SKU when it asks for places. Units; demands are what buyers wanted in one tick of 50 ms. */
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
  /** Of all nodes, as the last lease reply told; only a pace needs it. */
  readonly clusterDemand?: number
  /** Since the last lease call, ms. */
  readonly sinceMs?: number
}

/** What to ask the ledger for. `more` is taken only where the other nodes leave it; it is 0 without a pace. */
export interface LeaseAnswer {
  readonly want: number
  readonly more: number
  readonly giveBack: number
  readonly pacePerSecond: number | null
}

/** Length of a tick. */
export const TICK_MS = 50
/** While a paced lease is empty and buyers ask, it is renewed this often: half a chunk, so that none runs over. */
export const PACED_EVERY_MS = 25
/** Shortest time between two lease calls that empty leases ask for. */
export const HUNGRY_EVERY_MS = 5
/** Places per node under which the pool is nearly empty: single places are leased, idle ones go back at once. */
const PLENTY_PER_NODE = 8
/** Places that a node without demand keeps ready while the pool is plentiful. */
const RESERVE_MAX = 32
/** Largest unpaced lease: what a node grants in a tick at 100 k grants/s. */
const LEASE_MAX = 5_000
/** An unpaced lease covers this many ticks of demand, so that it does not run dry between two replies. */
const COVER_TICKS = 2
/** A node that was late takes the share of at most so long. */
const SINCE_MS_MAX = 2 * TICK_MS

/**
 * How many places a node wants and gives back, so that no buyer waits at a node while places lie idle at another:
 *
 * ```
 *   pool plentiful (> 8 per node)   want: demand x 2, at most half of a fair share, at least a small reserve
 *   pool nearly empty               want: one at a time, only while somebody asks; what nobody asks for goes back
 *   paced                           see `planPaced`
 * ```
 */
export function planLease(question: LeaseQuestion): LeaseAnswer {
  const { state, policy, figures, available, demand, nodes, pacing = NO_PRESSING } = question
  const pacePerSecond = paceUnder(state, policy, pacing)
  if (!isReleasing(state))
    return { want: demand > 0 && state === 'exhausted' ? 1 : 0, more: 0, giveBack: available, pacePerSecond }
  if (pacePerSecond !== null) return planPaced(question, pacePerSecond)
  const need = Math.ceil(demand * COVER_TICKS)
  const target = Math.min(leaseMax(question), Math.max(need, reserveOf(figures.pool, nodes)))
  const giveBack = excessOf(question, Math.max(target, need))
  return { want: Math.max(0, target - available), more: 0, giveBack, pacePerSecond }
}

/**
 * A paced lease covers one tick of demand. A node takes its share of the pace, by demand, for the time since its last call,
 * and `more`, up to one chunk, only where the ledger's bucket is half full, that is where others do not come for theirs:
 *
 * ```
 *   want   ceil(demand / demand of all x pace x time since the last call)      a node of 1/3 of the buyers: 1/3 of 50 ms
 *   more   the rest of what its buyers want, at most 50 ms of the whole pace   the others are dead, late or without buyers
 * ```
 * More than a chunk goes back at once, so that a pace that falls is kept by those too who hold places of a faster time.
 */
function planPaced(question: LeaseQuestion, pacePerSecond: number): LeaseAnswer {
  const { figures, available, demand, nodes, clusterDemand = 0, sinceMs = TICK_MS } = question
  const chunk = Math.max(1, Math.ceil((pacePerSecond * TICK_MS) / 1000))
  const most = Math.min(chunk, leaseMax(question))
  const reserve = Math.min(reserveOf(figures.pool, nodes), Math.floor(chunk / (PLENTY_PER_NODE * nodes)))
  const target = Math.min(most, Math.max(Math.ceil(demand), reserve))
  const missing = Math.max(0, target - available)
  const turnMs = Math.min(SINCE_MS_MAX, Math.max(PACED_EVERY_MS, sinceMs))
  const share = demand / Math.max(demand, clusterDemand, Number.MIN_VALUE)
  const want = Math.min(missing, Math.ceil((share * pacePerSecond * turnMs) / 1000))
  const giveBack = Math.max(excessOf(question, target), available - chunk)
  return { want, more: missing - want, giveBack: Math.max(0, giveBack), pacePerSecond }
}

/**
 * May an empty lease be renewed before the next tick? Unpaced after a short while; paced where half a chunk is a place or
 * more; never from an empty pool.
 */
export function isWorthAsking(figures: Figures | undefined, pacePerSecond: number | null, sinceMs: number): boolean {
  if ((figures?.pool ?? 0) <= 0) return false
  if (pacePerSecond === null) return sinceMs >= HUNGRY_EVERY_MS
  return sinceMs >= PACED_EVERY_MS && pacePerSecond * PACED_EVERY_MS >= 1_000
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

/** Half of a fair share of the pool, so that none is stranded where nobody asks. */
function leaseMax({ state, figures, nodes }: LeaseQuestion): number {
  if (state === 'trickling' || isNearlyEmpty(figures.pool, nodes)) return 1
  return Math.min(LEASE_MAX, Math.max(1, Math.floor(figures.pool / (2 * nodes))))
}

/** With plenty in the pool a little too much is kept: giving back and leasing again would only cost calls. */
function excessOf({ figures, available, nodes }: LeaseQuestion, keep: number): number {
  const excess = available - keep
  return excess > 0 && (isNearlyEmpty(figures.pool, nodes) || excess > keep) ? excess : 0
}

/** A lone node cannot starve another: it always keeps something ready. */
function reserveOf(pool: number, nodes: number): number {
  if (nodes > 1 && isNearlyEmpty(pool, nodes)) return 0
  return Math.max(1, Math.min(RESERVE_MAX, Math.floor(pool / (PLENTY_PER_NODE * nodes))))
}

function isNearlyEmpty(pool: number, nodes: number): boolean {
  return pool <= nodes * PLENTY_PER_NODE
}

/** Without slots there are no buyers here: everything goes back. */
export function giveAllBack(available: number): LeaseAnswer {
  return { want: 0, more: 0, giveBack: available, pacePerSecond: null }
}
