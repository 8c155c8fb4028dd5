import { assert } from './errors.ts'
import { NO_SLOT, SlotTable } from './slots.ts'

/**
 * Deadlines of what waits in the slots of a SlotTable: one coarse sweep instead of a timer for each.
 *
 * ```
 *   handles  [ h0 | -1 | h2 | -1 ]        earliest ≤ every deadline: a sweep before it looks at nothing,
 *   due ms   [ 80 |  . | 65 |  . ]        a sweep after it passes over the columns once
 * ```
 *
 * Every deadline that is reached is reported once, at the first sweep after it; times are of a clock that never goes back.
 */
export class DeadlineSweep {
  readonly capacity: number
  readonly #handles: Int32Array
  readonly #dueMs: Float64Array
  #earliestMs = Number.POSITIVE_INFINITY

  constructor(capacity: number) {
    assert(Number.isInteger(capacity) && capacity > 0, `deadlines for ${capacity} slots`)
    this.capacity = capacity
    this.#handles = new Int32Array(capacity).fill(NO_SLOT)
    this.#dueMs = new Float64Array(capacity)
  }

  /** Sets or moves the deadline of a slot's present holder. */
  set(handle: number, dueMs: number): void {
    const index = SlotTable.indexOf(handle)
    assert(handle >= 0 && index < this.capacity, 'a handle belongs to a slot')
    this.#handles[index] = handle
    this.#dueMs[index] = dueMs
    if (dueMs < this.#earliestMs) this.#earliestMs = dueMs
  }

  /** Takes a deadline back; false when it was reported already, or the slot has another holder. */
  clear(handle: number): boolean {
    const index = SlotTable.indexOf(handle)
    if (handle < 0 || this.#handles[index] !== handle) return false
    this.#handles[index] = NO_SLOT
    return true
  }

  /** Reports every handle whose deadline is reached and forgets it; returns how many. `onDue` may set and clear others. */
  sweep(nowMs: number, onDue: (handle: number) => void): number {
    if (nowMs < this.#earliestMs) return 0
    this.#earliestMs = Number.POSITIVE_INFINITY
    let count = 0
    for (let index = 0; index < this.capacity; index++) {
      const handle = this.#handles[index] ?? NO_SLOT
      if (handle === NO_SLOT) continue
      const dueMs = this.#dueMs[index] ?? 0
      if (dueMs > nowMs) {
        if (dueMs < this.#earliestMs) this.#earliestMs = dueMs
        continue
      }
      this.#handles[index] = NO_SLOT
      count++
      onDue(handle)
    }
    return count
  }
}
