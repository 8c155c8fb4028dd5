/** One buyer's visit: with which session and from where it asks, and how it was answered. */

import type { AnswerClass } from './answer-class.ts'
import type { BuyerPlan } from './buyer-plan.ts'
import type { Call, From } from './client.ts'

/** Answers that say something about the sale, and not about the state of the platform or of the buyer's standing. */
const ON_MERIT: readonly AnswerClass[] = ['granted', 'queued', 'soldOut', 'refused']

/** Made when the buyer arrives. */
export class Visit {
  readonly plan: BuyerPlan
  readonly session: string
  /** Proof of a solved challenge. */
  pass: string | undefined
  isGranted = false
  isBlocked = false
  isShed = false
  isLimited = false
  isChallenged = false
  #last: AnswerClass | undefined
  #turn = 0

  constructor(plan: BuyerPlan, session: string) {
    this.plan = plan
    this.session = session
  }

  /** Was it granted, or the last answer one on merit? A buyer who ends blocked, shed, limited or without an answer was not served. */
  get isServed(): boolean {
    return this.isGranted || (this.#last !== undefined && ON_MERIT.includes(this.#last))
  }

  /** Notes how a call for the path or a buy request was answered. */
  note(answer: AnswerClass, status: number): void {
    // A challenge and a ticket that has run out are questions back, not answers.
    this.#last = status === 428 || status === 400 ? undefined : answer
    if (status === 428) this.isChallenged = true
    if (answer === 'granted') this.isGranted = true
    if (answer === 'blocked') this.isBlocked = true
    if (answer === 'overloaded') this.isShed = true
    if (answer === 'rateLimited') this.isLimited = true
  }

  /** The product said so by itself: sold out, or over. */
  noteEnd(): void {
    this.#last = 'soldOut'
  }

  /** A call in this buyer's name, from the next of its addresses. */
  call(what: Omit<Call, 'session' | 'from'>): Call {
    const pass = this.pass === undefined ? undefined : { 'x-challenge-pass': this.pass }
    return { ...what, session: this.session, from: this.nextFrom(), headers: { ...pass, ...what.headers } }
  }

  /** From where the next request comes. */
  nextFrom(): From | undefined {
    const { origin } = this.plan
    if (origin === undefined) return undefined
    const address = origin.addresses[this.#turn++ % origin.addresses.length] ?? ''
    return { address, connections: origin.connections, device: origin.device }
  }
}
