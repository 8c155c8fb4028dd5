/** Which call a row of the request log is about; a number is never given a second meaning. */
export const ACCESS_CALL = { buy: 1, path: 2, session: 3, other: 4 } as const
/** One of the calls. */
export type AccessCall = (typeof ACCESS_CALL)[keyof typeof ACCESS_CALL]

/** What became of a request; a number is never given a second meaning. */
export const ACCESS_OUTCOME = {
  ok: 1,
  granted: 2,
  queued: 3,
  soldOut: 4,
  refused: 5,
  notStarted: 6,
  badTicket: 7,
  noSession: 8,
  rateLimited: 9,
  blocked: 10,
  shed: 11,
  unavailable: 12,
  challenged: 13,
  notFound: 14,
  badRequest: 15,
} as const
/** One of the outcomes. */
export type AccessOutcome = (typeof ACCESS_OUTCOME)[keyof typeof ACCESS_OUTCOME]

/** What was odd about a request, as bits. */
export const ACCESS_FLAG = {
  badSignature: 1,
  foreignTicket: 2,
  expiredTicket: 4,
  early: 8,
  impossibleTiming: 16,
  honeypot: 32,
  badChallenge: 64,
  joined: 128,
} as const

/** Bits from here on hold how long the answer told to stay away; see `toldFlags`. */
const TOLD_SHIFT = 8
const TOLD_STEP_MS = 64
const TOLD_STEPS_MAX = 255

/** How long an answer told to stay away, ms, as bits of a row's flags above ACCESS_FLAG: in steps of 64 ms, 0 for nothing told. */
export function toldFlags(toldMs: number): number {
  return toldMs <= 0 ? 0 : Math.min(TOLD_STEPS_MAX, Math.max(1, Math.floor(toldMs / TOLD_STEP_MS))) << TOLD_SHIFT
}

/** How long the answer of a row told to stay away at least, ms, up to 16,320; 0 when it told nothing. */
export function toldMsOf(flags: number): number {
  return ((flags >>> TOLD_SHIFT) & TOLD_STEPS_MAX) * TOLD_STEP_MS
}

/** A batch of the request log as a struct of arrays; made once at its capacity and used again. */
export class AccessColumns {
  readonly capacity: number
  nodeId = ''
  at = 0
  rows = 0
  readonly afterMs: Uint32Array
  readonly uid: Float64Array
  readonly activityId: Uint32Array
  readonly skuId: Uint32Array
  readonly call: Uint32Array
  readonly outcome: Uint32Array
  readonly flags: Uint32Array
  readonly tier: Uint32Array
  /** Place of a row's address in `addresses`. */
  readonly address: Uint32Array
  readonly device: Float64Array
  /** Each address once, in the order of their first row. */
  readonly addresses: string[] = []

  constructor(capacity: number) {
    this.capacity = capacity
    this.afterMs = new Uint32Array(capacity)
    this.uid = new Float64Array(capacity)
    this.activityId = new Uint32Array(capacity)
    this.skuId = new Uint32Array(capacity)
    this.call = new Uint32Array(capacity)
    this.outcome = new Uint32Array(capacity)
    this.flags = new Uint32Array(capacity)
    this.tier = new Uint32Array(capacity)
    this.address = new Uint32Array(capacity)
    this.device = new Float64Array(capacity)
  }

  clear(): void {
    this.rows = 0
    this.at = 0
    this.nodeId = ''
    this.addresses.length = 0
  }
}
