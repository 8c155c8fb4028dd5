/** Takes what services have pushed into the list in Redis. One dcacenter does so at a time, the others stand by. */

import type { Clock, Counter, Metrics } from '@bigtap/kernel'
import type { NameLease, PushList } from '@bigtap/store'
import type { Memory } from './core/memory.ts'
import { parsePushed } from './core/raw-stats.ts'

/** What the taker works with. */
export interface PushTakerParts {
  readonly list: Pick<PushList, 'take'>
  readonly lease: Pick<NameLease, 'hold' | 'release'>
  readonly memory: Memory
  readonly clock: Clock
  readonly metrics: Metrics
}

/** Pushes in one call. */
export const TAKE_MAX = 256
/** Calls in one round: a full list is empty after two. */
export const TAKES_MAX = 20
/** How often to look, ms. */
export const TAKE_EVERY_MS = 250
/** A standby takes over after so long, ms. */
export const TAKER_LEASE_MS = 1_500

/** Takes pushes while it has the lease `dcacenter`. */
export class PushTaker {
  /** Is this the one that takes? */
  isActive = false
  readonly #parts: PushTakerParts
  readonly #taken: Counter
  readonly #bad: Counter
  readonly #refused: Counter

  constructor(parts: PushTakerParts) {
    this.#parts = parts
    const { metrics } = parts
    this.#taken = metrics.counter('bigtap_dcacenter_pushes_total', 'Pushes taken')
    this.#bad = metrics.counter(
      'bigtap_dcacenter_pushes_bad_total',
      'Pushes that are no JSON, or do not say who and when',
    )
    this.#refused = metrics.counter(
      'bigtap_dcacenter_pushes_refused_total',
      'Pushes too old, too late or beyond a limit',
    )
    metrics.gauge('bigtap_dcacenter_is_active', '1 when this process takes the pushes', () => (this.isActive ? 1 : 0))
  }

  /** One round; throws when Redis does not answer. */
  async round(): Promise<void> {
    const { lease, list } = this.#parts
    this.isActive = false
    this.isActive = (await lease.hold()) > 0
    for (let takes = 0; this.isActive && takes < TAKES_MAX; takes++) {
      const { values, bad } = await list.take(TAKE_MAX)
      this.#bad.inc(bad)
      for (const value of values) this.#apply(value)
      if (values.length + bad < TAKE_MAX) return
    }
  }

  /** Lets a standby take over at once. */
  async stop(): Promise<void> {
    if (this.isActive) await this.#parts.lease.release().catch(() => undefined) // it runs out by itself
  }

  #apply(value: unknown): void {
    const { memory, clock } = this.#parts
    const stats = parsePushed(value)
    if (stats === undefined) this.#bad.inc()
    else if (memory.apply(stats, { by: 'push', now: clock.monotonic(), wall: clock.now() })) this.#taken.inc()
    else this.#refused.inc()
  }
}
