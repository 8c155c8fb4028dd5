/** What the crowd saw: answers by class and profile, latencies, and every order it was promised. */

import type { AnswerClass } from './answer-class.ts'
import type { BuyerPlan } from './buyer-plan.ts'
import { Latencies, type Percentiles } from './latencies.ts'
import { countsByProfile, type ProfileFigures, ratio, zeroAnswers } from './profile-figures.ts'
import { ABUSIVE_PROFILES, HONEST_PROFILES, PROFILES, type Profile } from './profiles.ts'
import type { Visit } from './visit.ts'

/** Why something that a buyer saw must not happen. */
export interface Complaint {
  readonly kind: 'duplicate-order' | 'cart-answer-changed' | 'unexpected-status' | 'order-lost'
  readonly detail: string
}

/** An order that a cart call was answered with. */
export interface PromisedOrder {
  readonly orderId: string
  readonly uid: number
  readonly skuId: number
  readonly kind: 'normal' | 'bot'
  readonly profile: Profile
}

const COMPLAINTS_MAX = 100

/** Everything that is counted; plain numbers, read when the report is made. */
export class CrowdStats {
  asks = 0
  answers: Record<AnswerClass, number> = zeroAnswers()
  finished = 0
  gaveUp = 0
  paid = 0
  paymentsAccepted = 0
  cancelled = 0
  tokensLeft = 0
  firstAskAt = 0
  lastAskAt = 0
  /** A ticket that guessers have come by: it is another buyer's. */
  seenTicket: string | undefined
  readonly orders = new Map<string, PromisedOrder>()
  readonly complaints: Complaint[] = []
  complaintCount = 0
  readonly #profiles = countsByProfile()
  readonly #buyersWithOrder = new Set<number>()
  readonly #latencies = new Latencies()

  /** Counts one answered buy request. */
  onAnswer({ profile }: Pick<BuyerPlan, 'profile'>, answer: AnswerClass, latencyMs: number, at: number): void {
    this.asks++
    this.answers[answer]++
    this.#profiles[profile].onAnswer(answer, latencyMs)
    if (this.firstAskAt === 0) this.firstAskAt = at
    this.lastAskAt = at
    this.#latencies.add(latencyMs)
  }

  /** Counts a call to a path that nobody gave out. */
  onProbe({ profile }: Pick<BuyerPlan, 'profile'>): void {
    this.#profiles[profile].probes++
  }

  /** A buyer has left. */
  onEnd(visit: Visit): void {
    this.finished++
    this.#profiles[visit.plan.profile].onEnd(visit)
  }

  /** Remembers a promised order; a second order for one token or a changed answer is a complaint. */
  onOrder(order: PromisedOrder): void {
    this.orders.set(order.orderId, order)
    this.#buyersWithOrder.add(order.uid)
  }

  /** Has this account bought? */
  hasOrder(uid: number): boolean {
    return this.#buyersWithOrder.has(uid)
  }

  /** Notes what must not happen; keeps the first of them and counts all. */
  complain(kind: Complaint['kind'], detail: string): void {
    this.complaintCount++
    if (this.complaints.length < COMPLAINTS_MAX) this.complaints.push({ kind, detail })
  }

  /** Figures of the profiles that came. */
  profiles(): Partial<Record<Profile, ProfileFigures>> {
    const came = PROFILES.filter((name) => this.#profiles[name].buyers > 0)
    return Object.fromEntries(came.map((name) => [name, this.#profiles[name].read()]))
  }

  /** Share of the buyers who were served, of those who may buy. */
  normalServedRatio(): number {
    const [served, buyers] = this.#sum(HONEST_PROFILES, ({ served, buyers }) => [served, buyers])
    return ratio(served, buyers, 1)
  }

  /** Buyers who may buy and were blocked all the same. */
  wronglyBlocked(): number {
    return this.#sum(HONEST_PROFILES, ({ blocked }) => [blocked, 0])[0]
  }

  /** Share of abusive asks that were granted; of all, or of one profile. */
  abusiveAdmittedRatio(profiles: readonly Profile[] = ABUSIVE_PROFILES): number {
    const [granted, asks] = this.#sum(profiles, (counts) => [counts.answers.granted, counts.asks])
    return ratio(granted, asks, 0)
  }

  #sum(
    profiles: readonly Profile[],
    of: (counts: ReturnType<typeof countsByProfile>[Profile]) => [number, number],
  ): [number, number] {
    return profiles
      .map((name) => of(this.#profiles[name]))
      .reduce(([a, b], [more, other]) => [a + more, b + other], [0, 0])
  }

  /** Percentiles of the buy requests in ms; each at most one bucket (5 %) above the true value. */
  latency(): Percentiles {
    return this.#latencies.read()
  }
}
