import type { Clock } from '@bigtap/kernel'

/**
 * How far storing is behind the ledger, by the oldest event of the newest batch:
 *
 * ```
 *   stored ──onHeard──► storing ──onDone──► stored        while a batch cannot be stored its age grows with the time
 * ```
 * The clocks of Redis and of this machine may differ by tens of ms; the target is seconds.
 */
export class IntakeAge {
  readonly #clock: Pick<Clock, 'now'>
  #storing: number | undefined
  #lastMs = 0

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** A batch came; its oldest event is from then, ms since the epoch. */
  onHeard(at: number): void {
    this.#storing = at
  }

  /** It is stored. */
  onDone(): void {
    if (this.#storing === undefined) return
    this.#lastMs = Math.max(0, this.#clock.now() - this.#storing)
    this.#storing = undefined
  }

  /** Age of what is being stored, or of what was stored last since the previous look; 0 when nothing came. */
  takeMs(): number {
    const last = this.#lastMs
    this.#lastMs = 0
    return this.#storing === undefined ? last : Math.max(last, this.#clock.now() - this.#storing)
  }
}
