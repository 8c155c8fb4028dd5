/** What rules want to do and may not without an operator's yes. */

import type { RuleAction } from './rules.ts'

/** Actions that wait for a yes. */
export interface Approval {
  readonly id: string
  readonly ruleId: number
  readonly rule: string
  readonly subject: string
  readonly actions: readonly RuleAction[]
  readonly askedAt: number
  readonly expiresAt: number
}

/** Bounds; at the limit a new one is refused, and counted. */
export const APPROVAL_LIMITS = { waitingMax: 100, waitMs: 600_000 } as const

/** Those that wait; one for each rule and subject. */
export class Approvals {
  readonly #waiting = new Map<string, Approval>()
  #dropped = 0

  /** Refused at the limit. */
  get dropped(): number {
    return this.#dropped
  }

  /** Asks; what the same rule asked for the same subject before falls. False at the limit. */
  ask(now: number, wanted: Omit<Approval, 'askedAt' | 'expiresAt'>): boolean {
    this.list(now)
    this.withdraw(wanted.ruleId, wanted.subject)
    if (this.#waiting.size >= APPROVAL_LIMITS.waitingMax) {
      this.#dropped++
      return false
    }
    this.#waiting.set(wanted.id, { ...wanted, askedAt: now, expiresAt: now + APPROVAL_LIMITS.waitMs })
    return true
  }

  /** Those that still wait, the oldest first; the others are forgotten. */
  list(now: number): Approval[] {
    for (const [id, { askedAt, expiresAt }] of this.#waiting)
      if (now >= expiresAt || now < askedAt - APPROVAL_LIMITS.waitMs) this.#waiting.delete(id)
    return [...this.#waiting.values()]
  }

  /** Takes one out, for a yes or a no; undefined when it is not there any more. */
  take(now: number, id: string): Approval | undefined {
    const found = this.list(now).find((one) => one.id === id)
    this.#waiting.delete(id)
    return found
  }

  /** What the rule saw is over. */
  withdraw(ruleId: number, subject: string): void {
    for (const [id, one] of this.#waiting)
      if (one.ruleId === ruleId && one.subject === subject) this.#waiting.delete(id)
  }
}
