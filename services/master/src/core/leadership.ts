/**
 * Who leads, by what the lease answers and by our own monotonic clock:
 *
 * ```
 *   standby ─ the lease is ours ─► leading ─ somebody else has it, it is a new one, or no answer for 1.2 s ─► standby
 *                                    └ a lower fence: Redis was emptied and knows of nobody else: go on, raise it
 * ```
 * The lease lives in Redis from the moment a renewal arrives; we count from the moment it was sent, which is earlier. So we
 * stop at least 0.3 s before anybody else can begin, whatever the answers took.
 */

/** Times of the lease, ms. */
export const LEASE_MS = { ttl: 1_500, renewEvery: 400, act: 1_200 } as const

/** What an answer of the lease came to. */
export type LeaseOutcome = 'waiting' | 'won' | 'kept' | 'emptied' | 'lost'

/** One process' view of its leadership. */
export class Leadership {
  #epoch = 0
  #sentAt = Number.NEGATIVE_INFINITY

  /** The epoch in which this process may act now; 0 when it may not. */
  epochAt(now: number): number {
    return this.#isInTime(this.#sentAt, now) ? this.#epoch : 0
  }

  /** The lease has answered a renewal that was sent at `sentAt`; `fence` is 0 when somebody else has it. */
  onAnswer(fence: number, { sentAt, now }: { sentAt: number; now: number }): LeaseOutcome {
    if (this.#epoch > 0 && this.epochAt(now) === 0) return this.#lose()
    if (!this.#isInTime(sentAt, now)) return 'waiting' // too old to act on
    if (this.#epoch === 0) return fence > 0 ? this.#win(fence, sentAt) : 'waiting'
    if (fence === 0 || fence > this.#epoch) return this.#lose()
    this.#sentAt = Math.max(this.#sentAt, sentAt)
    return fence === this.#epoch ? 'kept' : 'emptied'
  }

  /** Has the time run out? True once; then this process is a standby. */
  hasLapsed(now: number): boolean {
    return this.#epoch > 0 && this.epochAt(now) === 0 && this.#lose() === 'lost'
  }

  #isInTime(sentAt: number, now: number): boolean {
    return now - sentAt < LEASE_MS.act
  }

  #win(fence: number, sentAt: number): LeaseOutcome {
    this.#epoch = fence
    this.#sentAt = sentAt
    return 'won'
  }

  #lose(): LeaseOutcome {
    this.#epoch = 0
    this.#sentAt = Number.NEGATIVE_INFINITY
    return 'lost'
  }
}
