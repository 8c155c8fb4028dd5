/** What became of each profile of the crowd. */

import { ANSWER_CLASSES, type AnswerClass } from './answer-class.ts'
import { Latencies, type Percentiles } from './latencies.ts'
import { PROFILES, type Profile } from './profiles.ts'
import type { Visit } from './visit.ts'

/** Figures of one profile. `admitted`, `blocked`, `shed` and `limited` are buyers who met it at least once. */
export interface ProfileFigures {
  readonly buyers: number
  readonly asks: number
  readonly answers: Readonly<Record<AnswerClass, number>>
  readonly admitted: number
  readonly blocked: number
  readonly shed: number
  readonly limited: number
  readonly challenged: number
  /** Calls to paths that nobody gave out. */
  readonly probes: number
  /** Share of its buyers whose last answer was one on merit, 0..1. */
  readonly servedRatio: number
  /** Share of its asks that were answered on merit, 0..1. */
  readonly askMeritRatio: number
  /** Of its asks, as it saw them: machines wait for a connection of their own, too. */
  readonly latencyMs: Percentiles
}

/** Counts while the sale runs. */
export class ProfileCounts {
  buyers = 0
  asks = 0
  probes = 0
  readonly answers = zeroAnswers()
  readonly #latencies = new Latencies()
  #admitted = 0
  #blocked = 0
  #shed = 0
  #limited = 0
  #challenged = 0
  #served = 0

  get served(): number {
    return this.#served
  }

  get blocked(): number {
    return this.#blocked
  }

  onAnswer(answer: AnswerClass, latencyMs: number): void {
    this.#latencies.add(latencyMs)
    this.asks++
    this.answers[answer]++
  }

  /** A buyer has left. */
  onEnd(visit: Visit): void {
    this.buyers++
    if (visit.isServed) this.#served++
    if (visit.isGranted) this.#admitted++
    if (visit.isBlocked) this.#blocked++
    if (visit.isShed) this.#shed++
    if (visit.isLimited) this.#limited++
    if (visit.isChallenged) this.#challenged++
  }

  read(): ProfileFigures {
    const { granted, queued, soldOut, refused } = this.answers
    return {
      buyers: this.buyers,
      asks: this.asks,
      answers: { ...this.answers },
      admitted: this.#admitted,
      blocked: this.#blocked,
      shed: this.#shed,
      limited: this.#limited,
      challenged: this.#challenged,
      probes: this.probes,
      servedRatio: ratio(this.#served, this.buyers, 1),
      askMeritRatio: ratio(granted + queued + soldOut + refused, this.asks, 1),
      latencyMs: this.#latencies.read(),
    }
  }
}

/** No answers yet. */
export function zeroAnswers(): Record<AnswerClass, number> {
  return Object.fromEntries(ANSWER_CLASSES.map((name) => [name, 0])) as Record<AnswerClass, number>
}

/** One count per profile. */
export function countsByProfile(): Record<Profile, ProfileCounts> {
  return Object.fromEntries(PROFILES.map((name) => [name, new ProfileCounts()])) as Record<Profile, ProfileCounts>
}

/** A share of a whole to five digits; `none` where there is no whole. */
export function ratio(part: number, whole: number, none: number): number {
  return whole === 0 ? none : Math.round((part / whole) * 100_000) / 100_000
}
