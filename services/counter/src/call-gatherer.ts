/**
 * Gathers ledger calls into batches: while one script of an activity and verb is under way, what comes waits and then
 * leaves together, at most 128 at a time. No call waits for a timer.
 *
 * ```
 *   calls ──► [activity x verb] ── one script under way ──► replies
 *                  └─ the next batch fills meanwhile
 * ```
 */

import { CodedError } from '@bigtap/kernel'
import { type LedgerCall, OUTCOME, type Outcome, VERB } from '@bigtap/protocol'
import { LEDGER_BATCH_MAX, type Ledger, type LedgerReply, WaitMeter } from '@bigtap/store'
import { faultOf, type Gathered, groupKey } from './core/gather.ts'

/** Takes the answer to a call; `order` where there is one. */
export type Answer = (outcome: Outcome, reply: LedgerReply | undefined) => void

/** What the gatherer works with. */
export interface GathererParts {
  readonly ledger: Pick<Ledger, 'reserve' | 'confirm' | 'cancel'>
  /** Is the counter's layer of that activity known to be shut? What is held goes on; nothing new is reserved. */
  readonly isShut?: (activityId: number) => boolean
  readonly onReply: (activityId: number, reply: LedgerReply) => void
  readonly onFault: (activityId: number, error: unknown) => void
  /** Monotonic ms, to measure how long calls wait; nothing is measured without. */
  readonly monotonic?: () => number
}

interface Waiting {
  readonly call: LedgerCall
  readonly answer: Answer
  readonly since: number
}

/** Batches for the ledger; bounded by `waitingMax` calls in all. */
export class CallGatherer {
  readonly waitingMax: number
  readonly #parts: GathererParts
  readonly #groups = new Map<number, Gathered<Waiting>>()
  readonly #running = new Set<number>()
  readonly #waits = new WaitMeter()
  #waiting = 0
  #refused = 0

  constructor({ waitingMax }: { waitingMax: number }, parts: GathererParts) {
    this.waitingMax = waitingMax
    this.#parts = parts
  }

  get waiting(): number {
    return this.#waiting
  }

  get refused(): number {
    return this.#refused
  }

  /** How long calls waited for their script since the last look, or how long the oldest waits now where that is more; ms. */
  takeWaitMs(): number {
    const now = this.#now()
    let waitMs = this.#waits.take()
    for (const { items } of this.#groups.values()) waitMs = Math.max(waitMs, now - (items[0]?.since ?? now))
    return waitMs
  }

  /** Takes a call; every call is answered once. */
  add(call: LedgerCall, answer: Answer): void {
    if (faultOf(call) !== undefined) {
      answer(OUTCOME.badRequest, undefined)
      return
    }
    if (call.verb === VERB.reserve && this.#parts.isShut?.(call.activityId) === true) {
      answer(OUTCOME.closed, undefined)
      return
    }
    if (this.#waiting >= this.waitingMax) {
      this.#refused++
      answer(OUTCOME.unavailable, undefined)
      return
    }
    const key = groupKey(call)
    let group = this.#groups.get(key)
    if (!group) {
      group = { activityId: call.activityId, verb: call.verb, items: [] }
      this.#groups.set(key, group)
    }
    group.items.push({ call, answer, since: this.#now() })
    this.#waiting++
    if (!this.#running.has(key)) {
      this.#running.add(key)
      setImmediate(() => void this.#run(key, group))
    }
  }

  #now(): number {
    return this.#parts.monotonic?.() ?? 0
  }

  async #run(key: number, group: Gathered<Waiting>): Promise<void> {
    while (group.items.length > 0) await this.#runBatch(group, group.items.splice(0, LEDGER_BATCH_MAX))
    this.#running.delete(key)
    this.#groups.delete(key)
  }

  async #runBatch({ activityId, verb }: Gathered<Waiting>, batch: readonly Waiting[]): Promise<void> {
    const { ledger, onReply, onFault } = this.#parts
    const orderIds = () => batch.map(({ call }) => call.orderId)
    const now = this.#now()
    for (const { since } of batch) this.#waits.add(now - since)
    try {
      const replies = await (verb === VERB.reserve
        ? ledger.reserve(
            activityId,
            batch.map(({ call }) => call),
          )
        : verb === VERB.confirm
          ? ledger.confirm(activityId, orderIds())
          : ledger.cancel(activityId, orderIds()))
      for (const [index, { answer }] of batch.entries()) {
        const reply = replies[index]
        if (reply) onReply(activityId, reply)
        answer(reply?.outcome ?? OUTCOME.unavailable, reply)
      }
    } catch (error) {
      // The outcome may be unknown: the caller repeats the same id and learns it then.
      const outcome =
        error instanceof CodedError && error.code === 'LEDGER_UNKNOWN' ? OUTCOME.closed : OUTCOME.unavailable
      for (const { answer } of batch) answer(outcome, undefined)
      onFault(activityId, error)
    } finally {
      this.#waiting -= batch.length
    }
  }
}
