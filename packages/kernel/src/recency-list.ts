/** No such place. */
export const NO_PLACE = -1

/**
 * The order in which places (0, 1, 2 …) were used last: a doubly linked list in two typed arrays, each step O(1) and
 * without garbage. A place is linked once at most; that is its owner's to see to.
 *
 * ```
 *   newest ─► [c] ─► [a] ─► [b] ◄─ oldest          older of c: a          newer of a: c
 * ```
 */
export class RecencyList {
  newest = NO_PLACE
  oldest = NO_PLACE
  #older: Int32Array
  #newer: Int32Array

  constructor(places: number) {
    this.#older = new Int32Array(places)
    this.#newer = new Int32Array(places)
  }

  /** How many places there are. */
  get places(): number {
    return this.#older.length
  }

  get bytes(): number {
    return this.#older.byteLength + this.#newer.byteLength
  }

  /** Makes room for more places. */
  grow(places: number): void {
    this.#older = grown(this.#older, places)
    this.#newer = grown(this.#newer, places)
  }

  /** A place that is linked was used: it becomes the newest. */
  use(place: number): void {
    if (place === this.newest) return
    this.unlink(place)
    this.linkNewest(place)
  }

  /** Links a place as the newest. */
  linkNewest(place: number): void {
    this.#older[place] = this.newest
    this.#newer[place] = NO_PLACE
    if (this.newest === NO_PLACE) this.oldest = place
    else this.#newer[this.newest] = place
    this.newest = place
  }

  /** Links a place as the oldest: the next to be given away. */
  linkOldest(place: number): void {
    this.#newer[place] = this.oldest
    this.#older[place] = NO_PLACE
    if (this.oldest === NO_PLACE) this.newest = place
    else this.#older[this.oldest] = place
    this.oldest = place
  }

  /** Takes a place out. */
  unlink(place: number): void {
    const older = this.#older[place] as number
    const newer = this.#newer[place] as number
    if (older === NO_PLACE) this.oldest = newer
    else this.#newer[older] = newer
    if (newer === NO_PLACE) this.newest = older
    else this.#older[newer] = older
  }
}

function grown(column: Int32Array, length: number): Int32Array {
  const wider = new Int32Array(length)
  wider.set(column)
  return wider
}
