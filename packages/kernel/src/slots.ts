import { assert } from './errors.ts'

/** No slot: the table is full. */
export const NO_SLOT = -1

const INDEX_BITS = 16
const INDEX_MASK = (1 << INDEX_BITS) - 1
const GENERATION_MASK = 0x7fff

/**
 * Fixed slots for what waits. A handle is the slot's index and its generation, so that a late reply to a slot that was
 * released and taken again is told from a reply to its present holder.
 *
 * ```
 *   handle (31 bits)  [ generation 15 | index 16 ]
 * ```
 */
export class SlotTable {
  readonly capacity: number
  readonly #generations: Uint16Array
  readonly #isTaken: Uint8Array
  readonly #free: Uint16Array
  #freeCount: number

  constructor(capacity: number) {
    const isGood = Number.isInteger(capacity) && capacity > 0 && capacity <= INDEX_MASK
    assert(isGood, `slot capacity ${capacity} is not from 1 to ${INDEX_MASK}`)
    this.capacity = capacity
    this.#generations = new Uint16Array(capacity)
    this.#isTaken = new Uint8Array(capacity)
    this.#free = Uint16Array.from({ length: capacity }, (_, index) => capacity - 1 - index)
    this.#freeCount = capacity
  }

  get used(): number {
    return this.capacity - this.#freeCount
  }

  /** Takes a slot and returns its handle, or NO_SLOT. */
  acquire(): number {
    if (this.#freeCount === 0) return NO_SLOT
    const index = this.#free[--this.#freeCount] ?? 0
    this.#isTaken[index] = 1
    return ((this.#generations[index] ?? 0) << INDEX_BITS) | index
  }

  /** Is the handle's slot still held by the one that took it? */
  isLive(handle: number): boolean {
    const index = handle & INDEX_MASK
    return index < this.capacity && this.#isTaken[index] === 1 && this.#generations[index] === handle >>> INDEX_BITS
  }

  /** Gives a slot back; false when the handle is not live (a late reply). */
  release(handle: number): boolean {
    if (!this.isLive(handle)) return false
    const index = handle & INDEX_MASK
    this.#isTaken[index] = 0
    this.#generations[index] = ((this.#generations[index] ?? 0) + 1) & GENERATION_MASK
    this.#free[this.#freeCount++] = index
    return true
  }

  /** The slot's place in a column that runs beside the table. */
  static indexOf(handle: number): number {
    return handle & INDEX_MASK
  }
}
