/** Calls come over every router; each is done once. Pure. */

/** Sequences that are remembered; one that is older than all of them was done, or is too late. */
const REMEMBERED_MAX = 1_024

/** Which (epoch, sequence) have been seen. */
export class CallOnce {
  #epoch = 0
  #floor = 0
  readonly #seen = new Set<number>()

  get remembered(): number {
    return this.#seen.size
  }

  /** True the first time. An older epoch is never new. */
  isFirst(epoch: number, sequence: number): boolean {
    if (epoch < this.#epoch) return false
    if (epoch > this.#epoch) {
      this.#epoch = epoch
      this.#floor = 0
      this.#seen.clear()
    }
    if (sequence <= this.#floor || this.#seen.has(sequence)) return false
    this.#seen.add(sequence)
    if (this.#seen.size > REMEMBERED_MAX) this.#forgetLowest()
    return true
  }

  #forgetLowest(): void {
    let lowest = Number.POSITIVE_INFINITY
    for (const sequence of this.#seen) if (sequence < lowest) lowest = sequence
    this.#seen.delete(lowest)
    this.#floor = lowest
  }
}
