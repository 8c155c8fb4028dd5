/** Figures of ledgers, for all keepers: those of a ledger in doubt are not given, and none is read twice in a round. */

import type { Figures } from '@bigtap/domain'
import type { Clock } from '@bigtap/kernel'
import type { Ledger, Store } from '@bigtap/store'

/** What a ledger says. `none`: not made yet. `doubt`: of another run of Redis, or being rebuilt. */
export type LedgerFacts =
  | { readonly state: 'none' | 'doubt' }
  | { readonly state: 'verified'; readonly figures: ReadonlyMap<number, Figures> }

/** Collaborators. */
export interface LedgerWatchParts {
  readonly store: Pick<Store, 'runId'>
  readonly ledger: Pick<Ledger, 'guards' | 'figures'>
  readonly clock: Clock
}

/** Figures are given again for this long: two keepers that look in one round read once. */
const FRESH_MS = 20
/** Activities whose figures are kept; at the limit all are forgotten. */
const KEPT_MAX = 1_000

/** The ledgers. */
export class LedgerWatch {
  readonly #parts: LedgerWatchParts
  readonly #kept = new Map<number, { at: number; facts: Promise<LedgerFacts> }>()

  constructor(parts: LedgerWatchParts) {
    this.#parts = parts
  }

  /** Rejects when Redis is away. */
  read(activityId: number): Promise<LedgerFacts> {
    const now = this.#parts.clock.monotonic()
    const kept = this.#kept.get(activityId)
    if (kept !== undefined && now - kept.at < FRESH_MS) return kept.facts
    if (this.#kept.size >= KEPT_MAX) this.#kept.clear()
    const facts = this.#read(activityId)
    this.#kept.set(activityId, { at: now, facts })
    return facts
  }

  /** Figures of a verified ledger; undefined while it is in doubt or not made. Rejects when Redis is away. */
  async figures(activityId: number): Promise<ReadonlyMap<number, Figures> | undefined> {
    const facts = await this.read(activityId)
    return facts.state === 'verified' ? facts.figures : undefined
  }

  async #read(activityId: number): Promise<LedgerFacts> {
    const { ledger, store } = this.#parts
    const guard = await ledger.guards.read(activityId)
    if (guard === undefined) return { state: 'none' }
    if (!guard.endsWith(`:${store.runId}`)) return { state: 'doubt' }
    return { state: 'verified', figures: await ledger.figures(activityId) }
  }
}
