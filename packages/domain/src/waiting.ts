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

/** How the line of a SKU stands, for the public: a few numbers that everybody may read once a second. */
export interface LineView {
  /** The front of the line: places up to this one have had their turn. */
  readonly cursor: number
  /** Who ever joined. */
  readonly joined: number
  /** Who stands in it. */
  readonly waiting: number
  /** How fast the cursor moves. */
  readonly perSecond: number
}

const JOINED_MAX = 1_000_000_000

/** Reads a line's figures. */
export function parseLineView(value: unknown, path = ''): Parsed<LineView> {
  const fields = new Fields(value, path)
  const count = { min: 0, max: JOINED_MAX }
  return fields.done({
    cursor: fields.number('cursor', count),
    joined: fields.number('joined', count),
    waiting: fields.number('waiting', count),
    perSecond: fields.number('perSecond', { ...count, fraction: true }),
  })
}

/** What decides when a draw is over. */
export interface DrawTerms {
  readonly admission: Admission
  readonly opensAt: number
  readonly waiting: WaitingDoc
}

/** The seed is shown this long after the draw: clocks differ, and whoever knew it while asks are collected could choose who asks. */
export const DRAW_REVEAL_AFTER_MS = 2_000

/** From when on places are called, ms since the epoch: at the opening, or when the draw has been held. */
export function callsAtOf({ admission, opensAt, waiting }: DrawTerms): number {
  return admission === 'draw' ? opensAt + waiting.drawSeconds * 1_000 : opensAt
}

/** May everybody know the seed? `isPublic`: the sale is open, or has been. */
export function isSeedShown(terms: DrawTerms, isPublic: boolean, now: number): boolean {
  return isPublic && terms.waiting.drawSeed !== '' && now >= callsAtOf(terms) + DRAW_REVEAL_AFTER_MS
}

/** Does the sale have a line, for the whole sale or once all units are spoken for? */
export function hasLine({ admission, waiting }: Pick<DrawTerms, 'admission' | 'waiting'>): boolean {
  return admission !== 'direct' || waiting.hasWaitingList
}
