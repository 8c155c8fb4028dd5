/** Middle's own threshold: which ranks the limiters are to keep back while this node has too much to do. Pure. */

import { COHORT_COUNT, RANK_COUNT } from '@bigtap/domain'

/** What the node sees of itself. */
export interface OverloadSample {
  /** How late the tick was, ms. */
  readonly loopMs: number
  /** Asks that came since the look before. */
  readonly asks: number
  /** Asks that wait for a write or a re-read, as a part of the places that there are. */
  readonly waitingShare: number
  /** Grants that wait to be written, likewise. */
  readonly pendingShare: number
}

/** Between two looks: the lowest rank that is kept back (RANK_COUNT: none), and looks in a row that agree. */
export interface OverloadState {
  readonly from: number
  readonly hotLooks: number
  readonly calmLooks: number
}

/** Nothing is kept back. */
export const NOT_OVERLOADED: OverloadState = { from: RANK_COUNT, hotLooks: 0, calmLooks: 0 }

const LOOP_MS_MAX = 50
const LOOP_MS_CALM = 20
/** 500 a second: fewer asks are not why the loop stands still. */
const ASKS_MIN = 25
const SHARE_MAX = 0.5
const SHARE_CALM = 0.25
/** From here on the best are kept back too: what has no place is answered `overloaded` anyway. */
const SHARE_DIRE = 0.9
const LOOKS_TO_CLOSE = 2
const LOOKS_TO_OPEN = 5
const OPEN_BY = 2

/**
 * One look, each 50 ms. A node does not know the grades of the asks that come (they are the limiters'), so it goes by
 * steps: a tier less each look while it is too full, an eighth of a tier more each look after a quarter of a second of
 * calm. The best tier is kept back only when there is nearly no place left, a cohort at a time.
 */
export function moveShedFrom(state: OverloadState, sample: OverloadSample): OverloadState {
  const share = Math.max(sample.waitingShare, sample.pendingShare)
  const isLoopHot = sample.loopMs > LOOP_MS_MAX && sample.asks >= ASKS_MIN
  if (isLoopHot || share > SHARE_MAX) {
    const hotLooks = state.hotLooks + 1
    return { from: hotLooks < LOOKS_TO_CLOSE ? state.from : closed(state.from, share), hotLooks, calmLooks: 0 }
  }
  const isCalm = sample.loopMs < LOOP_MS_CALM && share < SHARE_CALM
  const calmLooks = isCalm ? state.calmLooks + 1 : 0
  const from = calmLooks < LOOKS_TO_OPEN ? state.from : Math.min(RANK_COUNT, state.from + OPEN_BY)
  return { from, hotLooks: 0, calmLooks }
}

/** What is said on the wire: 0 for nothing. */
export function saidOf({ from }: OverloadState): number {
  return from >= RANK_COUNT ? 0 : from
}

function closed(from: number, share: number): number {
  if (from > COHORT_COUNT) return Math.max(COHORT_COUNT, from - COHORT_COUNT)
  return share > SHARE_DIRE ? Math.max(1, from - 1) : from
}
