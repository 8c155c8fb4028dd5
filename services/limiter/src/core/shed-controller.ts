/** The threshold over ranks, moved by what the last moments brought. Pure. */

import { COHORT_COUNT, RANK_COUNT } from '@bigtap/domain'

/**
 * The controller looks this often, ms. In the spirit of CoDel (RFC 8289: judge by the time that things wait, not by how
 * many do) and of WeChat's DAGOR (Zhou et al., Overload Control for Scaling WeChat Microservices, 2018: one threshold over
 * priority and cohort, found in the histogram of what came, target 20 ms).
 */
export const LOOK_EVERY_MS = 50
/** The slowest of those who are admitted should wait no longer than this here, ms. */
export const WAIT_MS_TARGET = 20
/** It closes at half of that, because what is on its way when it closes still comes. */
const HOT_MS = WAIT_MS_TARGET / 2
/** Below this the wait says that there is room. */
const CALM_MS = WAIT_MS_TARGET / 4
/** An event loop that stands still for longer has too much to do. */
export const LOOP_MS_TARGET = 40
/** Requests per ms below which it is not the asks that keep the loop busy. */
const LOOP_DEMAND_MIN = 0.5
/** So many looks must agree before it opens, or before it closes on the best tier. */
const LOOKS_TO_OPEN = 2
const LOOKS_TO_FASTER = 5
const STANDING_LOOKS = 3
/** Of the capacity that was seen, so much is let in when it closes. */
const CLOSE_TO = 0.97
/** Each look it closes by this part at least. */
const CLOSE_BY = 0.02
/** It opens by this part; after a quarter of a second of calm by half as much again with each look, up to a quarter. */
const OPEN_BY = 0.02
const OPEN_FASTER = 1.5
const OPEN_BY_MAX = 0.25
/** An event loop that is late closes by this much. */
const CLOSE_BY_LOOP = 0.2
/** New figures count by this part. */
const SMOOTH = 0.4
/** Above the best tier's last rank. */
const BEST_EDGE = COHORT_COUNT

/** What was seen since the last look. */
export interface ShedSample {
  readonly elapsedMs: number
  /** Requests that were graded, by rank, whether let in or not. */
  readonly demand: Readonly<Float64Array>
  /** Of them, those that became an ask for Middle; many are answered before. */
  readonly reached: number
  /** Asks that Middle answered. */
  readonly served: number
  /** The longest that anybody waited here who was sent, or waits now. */
  readonly waitMs: number
  /** Did somebody wait all the time? A queue that was empty once is a wave, one that never was is too much to do (CoDel). */
  readonly isStanding: boolean
  readonly loopMs: number
}

/** The controller between two looks; `demand`, `reached` and `capacity` per ms, smoothed. */
export interface ShedState {
  /** What stands at or above it is shed: rank plus the place within the cohort; RANK_COUNT sheds nobody. */
  readonly threshold: number
  readonly demand: Float64Array
  readonly passing: number
  readonly reached: number
  readonly capacity: number
  /** Looks in a row that found a standing queue, or room. */
  readonly standingLooks: number
  readonly calmLooks: number
}

/** Nothing was seen, nobody is shed. */
export function openState(): ShedState {
  return {
    ...{ threshold: RANK_COUNT, demand: new Float64Array(RANK_COUNT), passing: 0, reached: 0, capacity: 0 },
    ...{ standingLooks: 0, calmLooks: 0 },
  }
}

/**
 * One look. `state.demand` is written over and handed on.
 *
 * ```
 *   wait > 10 ms                   close: to where what is let in fits what Middle answered, by 2 % at least
 *   loop > 40 ms                   close by 20 %, down to the best tier
 *   wait < 5 ms, twice in a row    open: 2 % more are let in, then faster
 *   between                        hold
 *
 *   rank    0 ──────────────── 16 ── 32 ── 48 ── 64 ──────── 80 ─── 95
 *   demand  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅
 *                                                   ▲ threshold: the demand left of it is what fits
 * ```
 *
 * The best tier is closed last and gently: for a queue that stands through three looks, one cohort a look; never for a
 * wave, nor for the event loop, which gains little when the best are refused too. It opens again one cohort a look.
 */
export function moveThreshold(state: ShedState, sample: ShedSample): ShedState {
  const standingLooks = sample.isStanding ? state.standingLooks + 1 : 0
  const seen = { ...smoothed(state, sample), standingLooks }
  if (seen.threshold < BEST_EDGE && !sample.isStanding) return { ...seen, threshold: openedBest(seen), calmLooks: 0 }
  const isWaitHot = sample.waitMs > HOT_MS
  const isLoopHot = sample.loopMs > LOOP_MS_TARGET && demandBelow(seen.demand, RANK_COUNT) > LOOP_DEMAND_MIN
  if (isWaitHot || isLoopHot) {
    return { ...seen, threshold: isWaitHot ? closed(seen) : closedForLoop(seen), calmLooks: 0 }
  }
  const calmLooks = sample.waitMs < CALM_MS ? state.calmLooks + 1 : 0
  return { ...seen, threshold: calmLooks >= LOOKS_TO_OPEN ? opened(seen, calmLooks) : seen.threshold, calmLooks }
}

/** The level below which the demand sums up to `wanted`; RANK_COUNT when all of it does not. */
export function levelOf(demand: Readonly<Float64Array>, wanted: number): number {
  let sum = 0
  for (let rank = 0; rank < RANK_COUNT; rank++) {
    const here = demand[rank] as number
    if (sum + here > wanted) return rank + (wanted - sum) / here
    sum += here
  }
  return RANK_COUNT
}

/** The demand below a level. */
export function demandBelow(demand: Readonly<Float64Array>, level: number): number {
  const whole = Math.floor(level)
  let sum = 0
  for (let rank = 0; rank < whole; rank++) sum += demand[rank] as number
  return whole < RANK_COUNT ? sum + (demand[whole] as number) * (level - whole) : sum
}

function smoothed(state: ShedState, sample: ShedSample): ShedState {
  const elapsedMs = Math.max(1, sample.elapsedMs)
  // Nothing to smooth with at the first look.
  const part = state.capacity === 0 ? 1 : SMOOTH
  const { demand } = state
  for (let rank = 0; rank < RANK_COUNT; rank++) {
    const before = demand[rank] as number
    demand[rank] = before + ((sample.demand[rank] as number) / elapsedMs - before) * part
  }
  const reached = state.reached + (sample.reached / elapsedMs - state.reached) * part
  const capacity = state.capacity + (sample.served / elapsedMs - state.capacity) * part
  const passing = state.passing + (demandBelow(demand, state.threshold) - state.passing) * part
  return { ...state, demand, reached, capacity, passing }
}

/** Of those who are let in, only a part asks Middle: the rest is answered here. */
function closed({ demand, threshold, capacity, reached, passing, standingLooks }: ShedState): number {
  const share = passing > 0 && reached > 0 ? Math.min(1, reached / passing) : 1
  const letIn = demandBelow(demand, threshold)
  const wanted = Math.min((CLOSE_TO * capacity) / share, letIn * (1 - CLOSE_BY))
  const level = Math.min(threshold, levelOf(demand, wanted))
  if (level >= BEST_EDGE) return level
  if (standingLooks < STANDING_LOOKS) return Math.min(threshold, BEST_EDGE)
  return Math.max(1, level, Math.min(threshold, BEST_EDGE) - 1)
}

function closedForLoop({ demand, threshold }: ShedState): number {
  const level = levelOf(demand, demandBelow(demand, threshold) * (1 - CLOSE_BY_LOOP))
  return Math.min(threshold, Math.max(BEST_EDGE, level))
}

function openedBest({ demand, threshold }: ShedState): number {
  const level = levelOf(demand, demandBelow(demand, threshold) * (1 + OPEN_BY))
  return Math.min(BEST_EDGE, Math.max(level, threshold + 1))
}

function opened({ demand, threshold }: ShedState, calmLooks: number): number {
  if (threshold >= RANK_COUNT) return RANK_COUNT
  const part = Math.min(OPEN_BY_MAX, OPEN_BY * OPEN_FASTER ** Math.max(0, calmLooks - LOOKS_TO_FASTER))
  return Math.max(threshold, levelOf(demand, demandBelow(demand, threshold) * (1 + part)))
}
