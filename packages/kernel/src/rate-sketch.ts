import { assert } from './errors.ts'
import { mix } from './hash.ts'

const ROWS = 4
const CELL_MAX = 0xffff
const STARTED_AT = 0
const ELAPSED = 1
const TOTAL = 2
const TOTAL_BEFORE = 3

/**
 * How often a key came within the last window, for any number of keys in fixed memory: a count-min sketch (Cormode,
 * Muthukrishnan: An Improved Data Stream Summary, 2005) over two windows, updated conservatively (Estan, Varghese 2002),
 * from which the noise that all keys together make is taken off (count-mean-min: Deng, Rafiei 2007).
 *
 * ```
 *            row 0  [ 0 | 3 | 0 | 1 … ]     a key has one cell in each row; its count is the least of the four, so that
 *   now      row 1  [ 3 | 0 | 0 | 1 … ]     another key adds to it only where it shares all four cells
 *            …
 *   before   row 0  [ 9 | 0 | 2 | 0 … ]     counts by the part of it that the last window still covers
 * ```
 *
 * It never says less than was counted minus `noise` (all that was counted / width), and with the cells of its own more
 * only as chance has it. 8 x width x 2 bytes: 1 MiB at a width of 65,536. The seed must be a secret of the process, or
 * keys could be made that share cells. An addition takes about 50 ns and 0 bytes.
 */
export class RateSketch {
  readonly windowMs: number
  readonly width: number
  readonly #mask: number
  readonly #seed: number
  #cells: Uint16Array
  #before: Uint16Array
  /** Start of the window, how far it is on, and all that was counted in it and in the one before: unboxed, so that no step allocates. */
  readonly #state = new Float64Array(4)

  constructor({ width, windowMs, seed }: { width: number; windowMs: number; seed: number }) {
    assert(Number.isInteger(Math.log2(width)) && width >= 2, `sketch with a width of ${width}, no power of two`)
    assert(windowMs > 0, `sketch over ${windowMs} ms`)
    this.width = width
    this.windowMs = windowMs
    this.#mask = width - 1
    this.#seed = seed >>> 0
    this.#cells = new Uint16Array(ROWS * width)
    this.#before = new Uint16Array(ROWS * width)
  }

  /** Bytes that it takes, always. */
  get bytes(): number {
    return this.#cells.byteLength + this.#before.byteLength
  }

  /** What other keys may have added to or hidden of a count: all that was counted in the window over the width. */
  get noise(): number {
    const state = this.#state
    const before = (state[TOTAL_BEFORE] as number) * (1 - (state[ELAPSED] as number) / this.windowMs)
    return ((state[TOTAL] as number) + before) / this.width
  }

  /** Counts `by` for a key (a hash of 32 bits) at `now`, ms; returns its count in the window that ends now. */
  add(hash: number, now: number, by = 1): number {
    this.#roll(now)
    this.#state[TOTAL] = (this.#state[TOTAL] as number) + by
    const first = mix(hash ^ this.#seed) | 0
    const step = mix(first ^ 0x9e3779b1) | 1
    const raised = Math.min(CELL_MAX, this.#least(this.#cells, first, step) + by)
    for (let row = 0; row < ROWS; row++) {
      const at = row * this.width + ((first + row * step) & this.#mask)
      if ((this.#cells[at] as number) < raised) this.#cells[at] = raised
    }
    return this.#counted(raised, this.#least(this.#before, first, step))
  }

  /** The count of a key in the window that ends now. */
  count(hash: number, now: number): number {
    this.#roll(now)
    const first = mix(hash ^ this.#seed) | 0
    const step = mix(first ^ 0x9e3779b1) | 1
    return this.#counted(this.#least(this.#cells, first, step), this.#least(this.#before, first, step))
  }

  #least(cells: Uint16Array, first: number, step: number): number {
    let least = CELL_MAX
    for (let row = 0; row < ROWS; row++) {
      const cell = cells[row * this.width + ((first + row * step) & this.#mask)] as number
      if (cell < least) least = cell
    }
    return least
  }

  /** Of the window before only the part counts that is still within the window that ends now; whole, and without the noise. */
  #counted(current: number, before: number): number {
    const share = 1 - (this.#state[ELAPSED] as number) / this.windowMs
    return Math.max(0, Math.ceil(current + before * share - this.noise)) | 0
  }

  #roll(now: number): void {
    const state = this.#state
    const elapsed = now - (state[STARTED_AT] as number)
    // A clock that was set back, or nothing for two windows: everything is forgotten.
    if (elapsed >= 2 * this.windowMs || elapsed < 0) this.#forget(now)
    else if (elapsed >= this.windowMs) this.#next()
    state[ELAPSED] = now - (state[STARTED_AT] as number)
  }

  #forget(now: number): void {
    const state = this.#state
    if (state[TOTAL] !== 0) this.#cells.fill(0)
    if (state[TOTAL_BEFORE] !== 0) this.#before.fill(0)
    state[TOTAL] = 0
    state[TOTAL_BEFORE] = 0
    state[STARTED_AT] = now
  }

  #next(): void {
    const state = this.#state
    const emptied = this.#before
    this.#before = this.#cells
    this.#cells = emptied.fill(0)
    state[TOTAL_BEFORE] = state[TOTAL] as number
    state[TOTAL] = 0
    state[STARTED_AT] = (state[STARTED_AT] as number) + this.windowMs
  }
}
