/** How a buyer asks: clicks, haste, volleys, and how even the gaps are. */

/** What `note` saw, as bits. */
export const PACE = { hasty: 1, volley: 2, afterLast: 4, ignored: 8 } as const

/** Requests that are this close are one click, or a browser that sends twice. */
const CLICK_MS = 60
/** The second request of a double click is answered up to so much later: times are those of answers, and a busy platform
 * answers one late (150 to 400 ms on two cores that carry a whole sale). */
const DOUBLE_CLICK_MS = 450
/** Two requests of one click are a person's; the third is a volley. */
const CLICK_ASKS_MAX = 2
/** Nobody is told to come back sooner, jitter and way included: who does is hasty, whatever was told. */
const HASTY_MS = 110
/** Part of what was told after which one may ask: answers are on their way for different times. */
const TOLD_PART = 0.7
/** People who press reload do not wait as told, but no person presses twice and more a second for long. */
const PERSON_MS = 450
/** Who comes back after that has come anew: the gap says nothing about the pace. */
const GAP_MS_MAX = 30_000
/** Rows of one buyer that come out of order by less are one click; by more they are ignored here. */
const DISORDER_MS = 1_000
/** Weight of a new gap in the averages: about the last eight count. */
const SMOOTH = 0.2

const LANES = 2
const GAPS_MAX = 255

/** One request. */
export interface PaceRow {
  readonly place: number
  /** 0 for asks to buy, 1 for asks for the path: one follows the other at once, and means nothing. */
  readonly lane: 0 | 1
  readonly at: number
  readonly skuId: number
  /** How long the answer tells to stay away, ms; 0 when that is not known. */
  readonly toldMs: number
  /** Was the answer the last word on the product (granted, sold out, refused)? */
  readonly isLast: boolean
}

/** Columns beside the table of uids: what is known of each buyer's last click. */
export class Pace {
  readonly #at: Float64Array
  readonly #sku: Float64Array
  /** What the click's answers told, the least of them, ms; 0 when that is not known. */
  readonly #toldMs: Uint16Array
  readonly #clickAsks: Uint8Array
  readonly #isDone: Uint8Array
  /** Did the click come in haste? Then what follows it is no double click. */
  readonly #wasHasty: Uint8Array
  /** Averages over the gaps between asks to buy: of the logarithm, and of its square. */
  readonly #mean: Float32Array
  readonly #square: Float32Array
  readonly #gaps: Uint8Array

  constructor(places: number) {
    this.#at = new Float64Array(places * LANES)
    this.#sku = new Float64Array(places * LANES)
    this.#toldMs = new Uint16Array(places * LANES)
    this.#clickAsks = new Uint8Array(places * LANES)
    this.#isDone = new Uint8Array(places * LANES)
    this.#wasHasty = new Uint8Array(places * LANES)
    this.#mean = new Float32Array(places)
    this.#square = new Float32Array(places)
    this.#gaps = new Uint8Array(places)
  }

  get bytes(): number {
    const perLane = [this.#at, this.#sku, this.#toldMs, this.#clickAsks, this.#isDone, this.#wasHasty]
    return [...perLane, this.#mean, this.#square, this.#gaps].reduce((sum, one) => sum + one.byteLength, 0)
  }

  /** Takes a request in; what was odd about its time, bits of PACE. */
  note(row: PaceRow): number {
    const slot = row.place * LANES + row.lane
    const gapMs = row.at - (this.#at[slot] as number)
    if (gapMs < -DISORDER_MS) return 0
    if ((this.#sku[slot] as number) !== row.skuId || gapMs > GAP_MS_MAX) return this.#begin(slot, row)
    if (gapMs < CLICK_MS || this.#isDoubleClick(slot, gapMs)) return this.#sameClick(slot, row, gapMs)
    return this.#nextClick(slot, row, gapMs)
  }

  /** The usual gap between two clicks, ms; 0 before the third. */
  gapMs(place: number): number {
    return (this.#gaps[place] as number) < 2 ? 0 : Math.exp(this.#mean[place] as number)
  }

  /** How uneven the gaps are: standard deviation of their logarithm, so 0.1 is about 10 %; -1 before the sixth click. */
  spread(place: number): number {
    if ((this.#gaps[place] as number) < 5) return -1
    const mean = this.#mean[place] as number
    return Math.sqrt(Math.max(0, (this.#square[place] as number) - mean * mean))
  }

  /** A place was given to somebody else. */
  clear(place: number): void {
    for (const column of [this.#at, this.#sku, this.#toldMs, this.#clickAsks, this.#isDone, this.#wasHasty]) {
      column.fill(0, place * LANES, (place + 1) * LANES)
    }
    this.#mean[place] = this.#square[place] = this.#gaps[place] = 0
  }

  #isDoubleClick(slot: number, gapMs: number): boolean {
    return gapMs < DOUBLE_CLICK_MS && this.#clickAsks[slot] === 1 && this.#wasHasty[slot] === 0
  }

  #begin(slot: number, { at, skuId, toldMs, isLast }: PaceRow): number {
    this.#at[slot] = at
    this.#sku[slot] = skuId
    this.#toldMs[slot] = toldMs
    this.#clickAsks[slot] = 1
    this.#isDone[slot] = isLast ? 1 : 0
    this.#wasHasty[slot] = 0
    return 0
  }

  #sameClick(slot: number, { at, toldMs, isLast }: PaceRow, gapMs: number): number {
    const asks = Math.min(GAPS_MAX, (this.#clickAsks[slot] as number) + 1)
    this.#clickAsks[slot] = asks
    if (at > (this.#at[slot] as number)) this.#at[slot] = at
    if (toldMs < (this.#toldMs[slot] as number)) this.#toldMs[slot] = toldMs
    if (isLast) this.#isDone[slot] = 1
    return asks > CLICK_ASKS_MAX && gapMs < CLICK_MS ? PACE.volley : 0
  }

  #nextClick(slot: number, row: PaceRow, gapMs: number): number {
    const mayAfterMs = (this.#toldMs[slot] as number) * TOLD_PART
    const hastyMs = mayAfterMs === 0 ? HASTY_MS : Math.min(PERSON_MS, mayAfterMs)
    const wasDone = this.#isDone[slot] === 1
    if (row.lane === 0) this.#average(row.place, Math.log(gapMs))
    this.#begin(slot, row)
    if (wasDone) this.#isDone[slot] = 1
    const seen = (wasDone ? PACE.afterLast : 0) | (gapMs < mayAfterMs ? PACE.ignored : 0)
    if (gapMs >= hastyMs) return seen
    this.#wasHasty[slot] = 1
    return seen | PACE.hasty
  }

  #average(place: number, log: number): void {
    const gaps = this.#gaps[place] as number
    const weight = Math.max(SMOOTH, 1 / (gaps + 1))
    const [mean, square] = [this.#mean[place] as number, this.#square[place] as number]
    this.#mean[place] = mean + (log - mean) * weight
    this.#square[place] = square + (log * log - square) * weight
    this.#gaps[place] = Math.min(GAPS_MAX, gaps + 1)
  }
}
