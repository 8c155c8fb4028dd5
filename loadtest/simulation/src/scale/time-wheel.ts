/**
 * Who comes when: every buyer waits for at most one thing, so one link per buyer is enough, and ten million fit into 80 MB.
 *
 * ```
 *   heads  [ step 0 | step 1 | … ]        next  [ buyer ─► buyer ─► -1 ]
 * ```
 */
export class TimeWheel {
  readonly #heads: Int32Array
  readonly #next: Int32Array
  readonly #steps: number
  waiting = 0

  constructor(buyers: number, steps: number) {
    this.#next = new Int32Array(buyers)
    this.#heads = new Int32Array(steps).fill(-1)
    this.#steps = steps
  }

  /** A buyer comes back at a step; what lies beyond the wheel comes at its end. */
  add(buyer: number, step: number): void {
    const at = Math.min(step, this.#steps - 1)
    this.#next[buyer] = this.#heads[at] as number
    this.#heads[at] = buyer
    this.waiting++
  }

  /** Calls `visit` for all of a step; each may be added again, to a later one. */
  take(step: number, visit: (buyer: number) => void): void {
    let buyer = this.#heads[step] as number
    this.#heads[step] = -1
    while (buyer >= 0) {
      const next = this.#next[buyer] as number
      this.waiting--
      visit(buyer)
      buyer = next
    }
  }
}
