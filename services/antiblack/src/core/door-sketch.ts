import { mix } from '@bigtap/kernel'

const ROWS = 4
const CELL_MAX = 255
/** Counts are halved after so many knocks per cell of a row: a cell then holds about 2 to 4 of keys that come once. */
const KNOCKS_PER_CELL = 2
const ROW_SEEDS = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f] as const

/**
 * Counts how often keys knock at a full table (count-min sketch of Cormode and Muthukrishnan, 2005, with conservative
 * update). Never too low within its time, and seldom too high: a key that comes once is taken for one of eight with a
 * chance of about 1 in 100,000. Counts are halved as knocks go by, so that what was heavy yesterday does not count.
 *
 * ```
 *   key ──► row 0 [ 2 ][ 0 ][ 7 ][ 1 ]     the least of its four cells is the count;
 *      └──► row 1 [ 0 ][ 9 ][ 1 ][ 2 ]     only those cells that are at the least are raised
 * ```
 */
export class DoorSketch {
  readonly #width: number
  readonly #cells: Uint8Array
  #knocks = 0

  /** `width` cells per row, a power of two. */
  constructor(width: number) {
    this.#width = width
    this.#cells = new Uint8Array(ROWS * width)
  }

  get bytes(): number {
    return this.#cells.byteLength
  }

  /** Counts one knock of the key with this hash; how often it has knocked, as far as is remembered. */
  knock(hash: number): number {
    if (++this.#knocks >= this.#width * KNOCKS_PER_CELL) this.#age()
    let least = CELL_MAX
    for (let row = 0; row < ROWS; row++) least = Math.min(least, this.#cells[this.#cell(row, hash)] as number)
    if (least === CELL_MAX) return least
    for (let row = 0; row < ROWS; row++) {
      const cell = this.#cell(row, hash)
      if (this.#cells[cell] === least) this.#cells[cell] = least + 1
    }
    return least + 1
  }

  #cell(row: number, hash: number): number {
    return row * this.#width + (mix(hash ^ (ROW_SEEDS[row] as number)) & (this.#width - 1))
  }

  #age(): void {
    this.#knocks = 0
    for (let cell = 0; cell < this.#cells.length; cell++) this.#cells[cell] = (this.#cells[cell] as number) >>> 1
  }
}
