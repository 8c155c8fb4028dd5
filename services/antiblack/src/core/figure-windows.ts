import { ABUSE_COUNTS, ABUSE_WINDOWS_SECONDS } from '@bigtap/domain'

/** Lengths of the windows, ms. */
export const WINDOW_MS = ABUSE_WINDOWS_SECONDS.map((seconds) => seconds * 1_000)
/** Place of a window in WINDOW_MS. */
export const WINDOW = { second: 0, tenSeconds: 1, minute: 2 } as const

const WINDOWS = WINDOW_MS.length
const FIGURES = ABUSE_COUNTS.length
/** Slots of one subject: two for each window. */
const STRIDE = WINDOWS * 2 * FIGURES
const NOWHERE = -1

/**
 * Counts per subject over sliding windows of 1, 10 and 60 s: the bucket under way and the one before it, which counts with
 * the part of it that the window still covers. What is off is never more than that one bucket.
 *
 * ```
 *        before      under way
 *   ───[ 8 ────────|─ 5 ──┼─ ─ ─ ]──►     3/4 of the window lie in the bucket before it is left:
 *            └──── window ┘ now           count = 5 + 8 x (1 - part of the bucket under way that is over)
 * ```
 *
 * A row may come late by one bucket and still be counted where it belongs: the order of rows within a second changes
 * nothing. Two slots per window, taken in turn: a new bucket clears the slot of the one before the last.
 */
export class FigureWindows {
  readonly #counts: Uint32Array
  /** Number of the bucket under way, per subject and window. */
  readonly #bucket: Uint32Array
  /** Where `add` counts, per window. */
  readonly #at = new Int32Array(WINDOWS)

  constructor(places: number) {
    this.#counts = new Uint32Array(places * STRIDE)
    this.#bucket = new Uint32Array(places * WINDOWS)
  }

  get bytes(): number {
    return this.#counts.byteLength + this.#bucket.byteLength
  }

  /** Begins with a row of `place` at `at`, ms: what is added next belongs to it. */
  open(place: number, at: number): void {
    for (let window = 0; window < WINDOWS; window++) this.#at[window] = this.#slot(place, window, at)
  }

  /** Counts one of `figure` for the row that `open` has begun. */
  add(figure: number): void {
    for (let window = 0; window < WINDOWS; window++) {
      const slot = this.#at[window] as number
      if (slot !== NOWHERE) this.#counts[slot + figure] = (this.#counts[slot + figure] as number) + 1
    }
  }

  /** How many of `figure` lie in the window that ends at `now`; a fraction. */
  count(place: number, figure: number, window: number, now: number): number {
    const buckets = now / (WINDOW_MS[window] as number)
    const bucket = Math.floor(buckets)
    const newest = this.#bucket[place * WINDOWS + window] as number
    const newer = this.#counts[slotOf(place, window, newest) + figure] as number
    if (bucket > newest + 1) return 0
    const left = 1 - (buckets - bucket)
    if (bucket === newest + 1) return newer * left
    const older = this.#counts[slotOf(place, window, newest + 1) + figure] as number
    return newer + (bucket === newest ? older * left : older)
  }

  /** A place was given to somebody else. */
  clear(place: number): void {
    this.#counts.fill(0, place * STRIDE, (place + 1) * STRIDE)
    this.#bucket.fill(0, place * WINDOWS, (place + 1) * WINDOWS)
  }

  #slot(place: number, window: number, at: number): number {
    const bucket = Math.floor(at / (WINDOW_MS[window] as number))
    const newest = this.#bucket[place * WINDOWS + window] as number
    if (bucket > newest) {
      this.#wipe(place, window, bucket)
      if (bucket > newest + 1) this.#wipe(place, window, bucket + 1)
      this.#bucket[place * WINDOWS + window] = bucket
    } else if (bucket < newest - 1) return NOWHERE
    return slotOf(place, window, bucket)
  }

  #wipe(place: number, window: number, bucket: number): void {
    const from = slotOf(place, window, bucket)
    // By hand: a call of fill() takes longer than eleven writes (1.6 us a row with it, 1.5 us without).
    for (let slot = from; slot < from + FIGURES; slot++) this.#counts[slot] = 0
  }
}

function slotOf(place: number, window: number, bucket: number): number {
  return place * STRIDE + (window * 2 + (bucket & 1)) * FIGURES
}
