import { assert } from './errors.ts'

/**
 * A bounded first-in-first-out queue over one array.
 *
 * ```
 *   head ──► [a][b][c][ ][ ] ◄── head + size    both wrap by a mask; nothing moves, nothing is allocated
 * ```
 */
export class Ring<T> {
  readonly capacity: number
  readonly #items: (T | undefined)[]
  readonly #mask: number
  #head = 0
  #size = 0

  constructor(capacity: number) {
    assert(Number.isInteger(capacity) && capacity > 0, `ring capacity ${capacity} is not a positive integer`)
    const length = 2 ** Math.ceil(Math.log2(capacity))
    this.capacity = capacity
    this.#items = new Array<T | undefined>(length).fill(undefined)
    this.#mask = length - 1
  }

  get size(): number {
    return this.#size
  }

  get isFull(): boolean {
    return this.#size === this.capacity
  }

  /** Appends; false when it is full (the item is not taken). */
  push(item: T): boolean {
    if (this.#size === this.capacity) return false
    this.#items[(this.#head + this.#size) & this.#mask] = item
    this.#size++
    return true
  }

  /** Takes the oldest, or undefined when empty. */
  shift(): T | undefined {
    if (this.#size === 0) return undefined
    const item = this.#items[this.#head]
    this.#items[this.#head] = undefined
    this.#head = (this.#head + 1) & this.#mask
    this.#size--
    return item
  }

  /** Takes the newest, or undefined when empty. */
  pop(): T | undefined {
    if (this.#size === 0) return undefined
    const place = (this.#head + this.#size - 1) & this.#mask
    const item = this.#items[place]
    this.#items[place] = undefined
    this.#size--
    return item
  }

  /** The item at a distance from the oldest. */
  at(index: number): T | undefined {
    return index < this.#size ? this.#items[(this.#head + index) & this.#mask] : undefined
  }

  /** Appends, dropping the oldest when full; returns what fell out. */
  pushDroppingOldest(item: T): T | undefined {
    const dropped = this.isFull ? this.shift() : undefined
    this.push(item)
    return dropped
  }
}
