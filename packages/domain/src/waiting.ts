/** How buyers wait: who is admitted in which order when more ask than there are places. */

import { Fields, type Parsed } from './checks.ts'

/**
 * `direct`: first come, first served. `queue`: each buyer has a place and nobody overtakes. `draw`: who asks in the first
 * seconds takes part in a draw, and the line stands in its order.
 */
export type Admission = 'direct' | 'queue' | 'draw'

/** The admissions. */
export const ADMISSIONS: readonly Admission[] = ['direct', 'queue', 'draw']

/** Terms of waiting of an activity. Times in seconds. */
export interface WaitingDoc {
  /** Who has not asked for so long has left; the next one is called. */
  readonly heartbeatSeconds: number
  /** Who was called and does not come within this time has lost the place. */
  readonly callSeconds: number
  /** With `direct`: when every unit is spoken for, do buyers stand in a line for those that come back? */
  readonly hasWaitingList: boolean
  /** With `draw`: how long after the opening asks are collected. */
  readonly drawSeconds: number
  /** With `draw`: SHA-256 of the seed, hexadecimal; published before the sale. Empty until it was drawn. */
  readonly drawCommit: string
  /** With `draw`: 32 bytes, hexadecimal; secret until the draw is over. Empty until it was drawn. */
  readonly drawSeed: string
}

/** The terms of an activity that names none. */
export const DEFAULT_WAITING: WaitingDoc = {
  heartbeatSeconds: 30,
  callSeconds: 30,
  hasWaitingList: false,
  drawSeconds: 10,
  drawCommit: '',
  drawSeed: '',
}

const HEX_32 = /^(?:[0-9a-f]{64})?$/

/** Reads the terms of waiting; what they do not name has the default. */
export function parseWaiting(value: unknown, path = ''): Parsed<WaitingDoc> {
  const fields = new Fields(value, path)
  const { heartbeatSeconds, callSeconds, hasWaitingList, drawSeconds } = DEFAULT_WAITING
  return fields.done({
    heartbeatSeconds: fields.number('heartbeatSeconds', { min: 1, max: 600, initial: heartbeatSeconds }),
    callSeconds: fields.number('callSeconds', { min: 1, max: 600, initial: callSeconds }),
    hasWaitingList: fields.boolean('hasWaitingList', hasWaitingList),
    drawSeconds: fields.number('drawSeconds', { min: 1, max: 3_600, initial: drawSeconds }),
    drawCommit: fields.textLike('drawCommit', HEX_32, '64 hexadecimal digits, or nothing', ''),
    drawSeed: fields.textLike('drawSeed', HEX_32, '64 hexadecimal digits, or nothing', ''),
  })
}
