/**
 * Keeps the known verdicts as the board has them.
 *
 * ```
 *   antiblack, master ─► board ─► routers ── frame, at once ──► apply; the next position: it moves on
 *                          │                                    a gap: applied, the position stays
 *                          └── each 500 ms: head ──► behind? read on from the position
 *                                                    too far behind, another log, a fresh start: read all in force
 * ```
 * While Redis is away the last verdicts stay, each until it runs out, and frames still come. A board that lost its memory
 * (another birth) takes nothing away: antiblack says again what it remembers.
 */

import type { AbuseVerdict } from '@bigtap/domain'
import type { Clock, Logger, Metrics } from '@bigtap/kernel'
import type { AbuseVerdictBatch } from '@bigtap/protocol'
import type { AbuseBoard, AbuseHead } from '@bigtap/store'
import type { KnownVerdicts } from './core/known-verdicts.ts'

/** What the feed works with. */
export interface AbuseFeedParts {
  readonly board: Pick<AbuseBoard, 'readHead' | 'since' | 'active'>
  readonly known: KnownVerdicts
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: Metrics
}

/** How often the board is looked at, ms: a frame that was lost is made up for within it. */
export const ABUSE_ROUND_MS = 500
/** Entries of one reading, and readings of one round; what is left comes with the next round. */
const PAGE = 1_000
const PAGES_MAX = 20
/** Entries that one round looks at for what has run out: about 1 ms. */
const SWEEP_MAX = 10_000

/** The feed; its owner calls `round` every ABUSE_ROUND_MS, and `onFrame` for what routers send. */
export class AbuseFeed {
  readonly #parts: AbuseFeedParts
  #log: AbuseHead | undefined
  #position = 0
  #isLoading = false
  readonly #counts = { frames: 0, gaps: 0, reads: 0, reloads: 0, verdicts: 0 }
  #lookedAt: number

  constructor(parts: AbuseFeedParts) {
    this.#parts = parts
    this.#lookedAt = parts.clock.monotonic()
    this.#declareMetrics()
  }

  /** Was the board read once? Until then only frames are known. */
  get isLoaded(): boolean {
    return this.#log !== undefined
  }

  /** Position behind the newest entry that is known without a gap. */
  get position(): number {
    return this.#position
  }

  /** For /debug/verdicts. */
  view(): Record<string, unknown> {
    const { known } = this.#parts
    const { size, capacity, shadowHits, refused } = known
    return { isLoaded: this.isLoaded, position: this.#position, size, capacity, shadowHits, refused, ...this.#counts }
  }

  /** What a router sent. */
  onFrame({ from, verdicts }: AbuseVerdictBatch): void {
    const until = from + verdicts.length
    this.#counts.frames++
    const isNext = this.isLoaded && !this.#isLoading && from <= this.#position
    if (isNext && until <= this.#position) return // another router was faster
    if (isNext) {
      this.#apply(verdicts.slice(this.#position - from))
      this.#position = until
      return
    }
    this.#counts.gaps++
    this.#apply(verdicts) // what went before is read with the next round, and this once more, in its turn
  }

  /** Looks at the board; rejects when Redis is away. */
  async round(): Promise<void> {
    const { board, known, clock } = this.#parts
    known.sweep(clock.now(), SWEEP_MAX)
    const head = await board.readHead()
    if (head.logId !== this.#log?.logId) await this.#load(head)
    else await this.#follow(head)
    this.#lookedAt = clock.monotonic()
  }

  async #follow(head: AbuseHead): Promise<void> {
    for (let page = 0; page < PAGES_MAX && this.#position < head.head; page++) {
      this.#counts.reads++
      const said = await this.#parts.board.since(this.#position, PAGE)
      if (said === undefined) return this.#load(head)
      const known = this.#position - said.from // frames may have brought some of them meanwhile
      if (known >= said.verdicts.length) continue
      this.#apply(said.verdicts.slice(known))
      this.#position = said.from + said.verdicts.length
    }
  }

  /** What is said while it is read stands behind `head`, and is read by the next round. */
  async #load(head: AbuseHead): Promise<void> {
    const { board, known, logger } = this.#parts
    const isSameBoard = head.bornAt !== '' && head.bornAt === this.#log?.bornAt
    this.#isLoading = true
    try {
      known.beginReload()
      for await (const page of board.active()) this.#apply(page)
      if (isSameBoard) known.endReload()
      this.#log = head
      this.#position = head.head
      this.#counts.reloads++
      logger.info({ head: head.head, known: known.size, isSameBoard }, 'the verdicts in force were read')
    } finally {
      this.#isLoading = false
    }
  }

  #apply(verdicts: readonly AbuseVerdict[]): void {
    const { known, clock } = this.#parts
    const now = clock.now()
    for (const verdict of verdicts) known.apply(verdict, now)
    this.#counts.verdicts += verdicts.length
  }

  #declareMetrics(): void {
    const { metrics, known, clock } = this.#parts
    const gauge = (name: string, help: string, read: () => number) =>
      metrics.gauge(`bigtap_limiter_verdicts_${name}`, help, read)
    const counts = this.#counts
    gauge('known_count', 'Verdicts about abuse that are known', () => known.size)
    gauge('capacity_count', 'Most verdicts that are known at a time', () => known.capacity)
    gauge('refused_count', 'Verdicts that did not fit, since the start', () => known.refused)
    gauge('shadow_hits_count', 'Look-ups that found a verdict in shadow mode, since the start', () => known.shadowHits)
    gauge('applied_count', 'Verdicts that were taken, since the start', () => counts.verdicts)
    gauge('frames_count', 'Frames of routers with verdicts, since the start', () => counts.frames)
    gauge('gaps_count', 'Frames before which others were missing, since the start', () => counts.gaps)
    gauge('reloads_count', 'Readings of all verdicts in force, since the start', () => counts.reloads)
    gauge('age_ms', 'Time since the board was looked at', () => clock.monotonic() - this.#lookedAt)
  }
}
