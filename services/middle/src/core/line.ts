/** When a buyer in the line is to ask again, and how long he will wait. Pure. */

import { hashUid } from '@bigtap/kernel'

/** Where a buyer stands. Times in ms. */
export interface LineQuestion {
  readonly uid: number
  /** 0 while the draw collects. */
  readonly place: number
  readonly cursor: number
  /** How fast the line moves, places per second. */
  readonly perSecond: number
  readonly heartbeatMs: number
  readonly now: number
  readonly callsAt: number
  /** How long he waits when the line stands still. */
  readonly stillMs: number
}

/** What he is told. */
export interface LineAnswer {
  readonly ahead: number
  readonly etaMs: number
  readonly retryAfterMs: number
}

/** Whose turn is about to come asks twice a second: a unit that is called waits for its buyer. */
const NEAR_MS = 500
/** Whose turn it is, while his node leases a place for him. */
const CALLED_MS = 200
const ETA_MS_MAX = 3_600_000
/** Three asks fit into a heartbeat, so that one that is lost does not cost the place. */
const ASKS_PER_HEARTBEAT = 3
/** Without a rate each one ahead counts as this long. */
const STILL_MS_EACH = 20
/** After the draw all come back within this time, and not all at once. */
const DRAWN_SPREAD_MS = 2_000
const SPREAD_STEPS = 1_024
/** What a buyer in the line is told. */
export function lineAnswer(question: LineQuestion): LineAnswer {
  const { uid, place, cursor, perSecond, now, callsAt, stillMs } = question
  const most = Math.floor(question.heartbeatMs / ASKS_PER_HEARTBEAT)
  const untilCalls = Math.max(0, Math.ceil(callsAt - now))
  if (untilCalls > 0) {
    const spread = ((hashUid(uid) & (SPREAD_STEPS - 1)) / SPREAD_STEPS) * Math.min(DRAWN_SPREAD_MS, most)
    const retryAfterMs = Math.max(NEAR_MS, Math.min(most, Math.ceil(untilCalls + spread)))
    return { ahead: Math.max(0, place - cursor - 1), etaMs: Math.min(ETA_MS_MAX, untilCalls), retryAfterMs }
  }
  if (place <= cursor) return { ahead: 0, etaMs: CALLED_MS, retryAfterMs: CALLED_MS }
  const ahead = Math.max(0, place - cursor - 1)
  const turnMs = perSecond > 0 ? ((ahead + 1) * 1_000) / perSecond : stillMs
  const awayMs = perSecond > 0 ? turnMs / 2 : ahead * STILL_MS_EACH
  const retryAfterMs = Math.round(Math.max(NEAR_MS, Math.min(most, awayMs)))
  return { ahead, etaMs: Math.min(ETA_MS_MAX, Math.ceil(Math.max(retryAfterMs, turnMs))), retryAfterMs }
}

/** With a pace so many seconds of it are called ahead: who is called must still find a place when he comes. */
const CALLED_AHEAD_SECONDS = 2

/** How many may be called and not have come yet; undefined: as many as there are places. */
export function calledMaxOf(pacePerSecond: number | null): number | undefined {
  return pacePerSecond === null ? undefined : Math.max(1, Math.ceil(pacePerSecond * CALLED_AHEAD_SECONDS))
}
