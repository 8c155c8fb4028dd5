/** Verdicts that wait to be said, one for each subject. Pure. */

import { type AbuseVerdict, subjectOf } from '@bigtap/domain'

/** A bounded queue in the order of the subjects' first verdict; a newer one about a subject replaces the one that waits. */
export class VerdictOutbox {
  readonly capacity: number
  #waiting = new Map<string, AbuseVerdict>()
  #dropped = 0
  #expired = 0

  constructor({ outboxMax }: { outboxMax: number }) {
    this.capacity = outboxMax
  }

  get size(): number {
    return this.#waiting.size
  }

  /** Verdicts that fell because too many waited. */
  get dropped(): number {
    return this.#dropped
  }

  /** Verdicts that ran out while they waited. */
  get expired(): number {
    return this.#expired
  }

  /** Adds a verdict; at the limit the oldest falls. */
  push(verdict: AbuseVerdict): void {
    this.#waiting.set(subjectOf(verdict), verdict)
    this.#trim()
  }

  /** Takes the oldest away, at most `max`; those that have run out are passed over. */
  take(max: number, now: number): AbuseVerdict[] {
    const taken: AbuseVerdict[] = []
    for (const [subject, verdict] of this.#waiting) {
      if (taken.length >= max) break
      this.#waiting.delete(subject)
      const isOver = verdict.expiresAt > verdict.at && verdict.expiresAt <= now // a lift is over from the start
      if (isOver) this.#expired++
      else taken.push(verdict)
    }
    return taken
  }

  /** Puts back what could not be said, before all others; what came meanwhile about a subject stands. */
  putBack(verdicts: readonly AbuseVerdict[]): void {
    const before = this.#waiting
    this.#waiting = new Map(verdicts.map((verdict) => [subjectOf(verdict), verdict]))
    for (const [subject, verdict] of before) this.#waiting.set(subject, verdict)
    this.#trim()
  }

  #trim(): void {
    for (const subject of this.#waiting.keys()) {
      if (this.#waiting.size <= this.capacity) return
      this.#waiting.delete(subject)
      this.#dropped++
    }
  }
}
