import type { Clock } from '@bigtap/kernel'

/** A clock that stands still until it is moved; wall and monotonic time are one. */
export class FakeClock implements Clock {
  #now: number

  constructor(startsAt = 1_800_000_000_000) {
    this.#now = startsAt
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#now
  }

  /** Moves the time on; negative is a clock that jumped back. */
  advance(ms: number): void {
    this.#now += ms
  }
}
