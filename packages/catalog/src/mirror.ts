/** A front's mirror of the live catalog: takes commands, asks for the revision, pulls what changed, keeps the last good state. */

import type {
  AbuseModelDoc,
  AbuseRulesDoc,
  ActivityDoc,
  ActivityId,
  PressureDoc,
  SharesDoc,
  SkuDoc,
  SkuId,
  SlotTableDoc,
  StatusDoc,
} from '@bigtap/domain'
import type { Clock, Counter, Logger, Metrics } from '@bigtap/kernel'
import type { CommandBatch, RefusedCommand } from '@bigtap/protocol'
import { type CatalogFeed, CatalogReader } from './catalog-reader.ts'
import { CommandIntake } from './command-intake.ts'
import { type CatalogView, Documents, type IncomingDocument, type RefusedDocument } from './documents.ts'

/** Whose mirror it is (its metrics carry the name), and how often the revision is asked for while something is live. */
export interface MirrorSettings {
  readonly service: string
  readonly pollMs?: number
}

/** Commands come over links; the poll is for what they did not bring. */
const POLL_MS = 500
/** Every front still reaches the newest revision within a second. */
const QUIET_POLL_MS = 1_000
/** Before the first poll that is answered, and after one that failed while something is known to be missing. */
const RETRY_MS = 100
const LIVE_STATES: readonly string[] = ['scheduled', 'preloading', 'armed', 'open', 'paused']

/** Collaborators of a mirror. */
export interface MirrorParts {
  readonly catalog: CatalogFeed
  readonly logger: Logger
  readonly clock: Clock
  readonly metrics: Metrics
}

/** Called after documents were applied, once per batch or poll, with the keys that changed. */
export type ChangeListener = (keys: readonly string[]) => void

/**
 * ```
 *   idle ─start─► following: every poll  head? ─ same ─► each second: digest? (CatalogReader)
 *                              │           ├ newer ─► read since ours ─► check each ─► apply ─► tell listeners
 *                              │           ├ older (began anew) ─► read all, what is not named stays
 *                              │           └ none (emptied), or no answer ─► the last good state stays
 *                              └ offer(batch): check each ─► apply what is newer ─► tell listeners; a gap ─► poll at once
 * ```
 */
export class Mirror implements CatalogView {
  readonly #settings: MirrorSettings
  readonly #parts: MirrorParts
  readonly #documents = new Documents()
  readonly #intake = new CommandIntake(this.#documents)
  readonly #reader: CatalogReader
  readonly #listeners: ChangeListener[] = []
  readonly #onPulled: (() => void)[] = []
  readonly #counts: { refusals: Counter; failures: Counter; gaps: Counter; stale: Counter }
  #state: 'idle' | 'following' | 'stopped' = 'idle'
  #timer: NodeJS.Timeout | undefined
  #round: 'resting' | 'running' | 'running, once more' = 'resting'
  #isMissed = false
  #syncedAt = 0
  #isReached = true

  constructor(settings: MirrorSettings, parts: MirrorParts) {
    this.#settings = settings
    this.#parts = parts
    const apply = (incoming: readonly IncomingDocument[]) => this.#applyAll(incoming)
    const onRemoved = (keys: readonly string[]) => this.#tellAll(keys)
    this.#reader = new CatalogReader(settings.service, { ...parts, documents: this.#documents, apply, onRemoved })
    this.#counts = this.#declare(`bigtap_${settings.service}_catalog`)
  }

  get revision(): number {
    return this.#documents.revision
  }

  get digest(): string {
    return this.#documents.digest
  }

  /** Was the catalog read at least once? */
  get isLoaded(): boolean {
    return this.#syncedAt !== 0
  }

  /** Does the digest differ from the published one, though everything was read again? */
  get isDiffering(): boolean {
    return this.#reader.isDiffering
  }

  get refused(): RefusedDocument[] {
    return this.#documents.refused()
  }

  activities(): ReadonlyMap<ActivityId, ActivityDoc> {
    return this.#documents.activities()
  }

  activity(activityId: ActivityId): ActivityDoc | undefined {
    return this.#documents.activity(activityId)
  }

  sku(activityId: ActivityId, skuId: SkuId): SkuDoc | undefined {
    return this.#documents.sku(activityId, skuId)
  }

  status(activityId: ActivityId, skuId: SkuId): StatusDoc | undefined {
    return this.#documents.status(activityId, skuId)
  }

  slotTable(): SlotTableDoc | undefined {
    return this.#documents.slotTable()
  }

  pressure(): PressureDoc | undefined {
    return this.#documents.pressure()
  }

  shares(): SharesDoc | undefined {
    return this.#documents.shares()
  }

  abuseRules(): AbuseRulesDoc | undefined {
    return this.#documents.abuseRules()
  }

  abuseModel(): AbuseModelDoc | undefined {
    return this.#documents.abuseModel()
  }

  /** Adds a listener. */
  onChange(listener: ChangeListener): void {
    this.#listeners.push(listener)
  }

  /** Adds a listener that is told after each reading of the catalog, whether it changed something or not. */
  onPulled(listener: () => void): void {
    this.#onPulled.push(listener)
  }

  /** Reads once, then follows. A catalog that cannot be reached yet is tried again; it does not reject. */
  async start(): Promise<void> {
    if (this.#state !== 'idle') return
    this.#state = 'following'
    await this.#runRound()
  }

  stop(): void {
    this.#state = 'stopped'
    clearTimeout(this.#timer)
  }

  /** One reading by hand: rejects when the catalog cannot be read. */
  async pull(): Promise<void> {
    this.#endTrials()
    const isMissed = this.#isMissed
    this.#isMissed = false
    try {
      await this.#reader.read(isMissed)
    } catch (error) {
      this.#isMissed ||= isMissed
      throw error
    }
    this.#syncedAt = this.#parts.clock.monotonic()
    for (const listener of this.#onPulled) listener()
  }

  /**
   * Takes a batch that came over the link named `via`: applies the documents that are newer. The same batch may come over
   * several links. On a gap the catalog is read at once.
   */
  offer(batch: CommandBatch, via = ''): { refused: readonly RefusedCommand[]; isStale: boolean } {
    const { changed, refused, outcome, revision } = this.#intake.take(batch, via, this.#parts.clock.monotonic())
    if (outcome === 'stale') this.#counts.stale.inc()
    if (outcome === 'missed') this.#counts.gaps.inc()
    if (revision > 0) this.#reader.cameUpTo(revision)
    for (const { key, revision, error } of refused) this.#sayRefused({ key, revision, errors: [error] })
    this.#tellAll(changed)
    if (outcome === 'missed' || outcome === 'behind') this.#pullSoon(outcome === 'missed')
    return { refused, isStale: outcome === 'stale' }
  }

  /** The link has ended: the first batch of its successor is a gap. */
  forgetLink(via: string): void {
    this.#intake.forget(via)
  }

  #pullSoon(isMissed: boolean): void {
    this.#isMissed ||= isMissed
    if (this.#state !== 'following') return
    if (this.#round !== 'resting') this.#round = 'running, once more'
    else void this.#runRound()
  }

  async #runRound(): Promise<void> {
    clearTimeout(this.#timer)
    do {
      this.#round = 'running'
      await this.#tryPull()
    } while (this.#wantsMore())
    this.#round = 'resting'
    if (this.#state === 'following') this.#timer = setTimeout(() => void this.#runRound(), this.#waitMs())
  }

  #wantsMore(): boolean {
    return this.#round === 'running, once more' && this.#state === 'following' && this.#isReached
  }

  async #tryPull(): Promise<void> {
    try {
      await this.pull()
      this.#isReached = true
    } catch (error) {
      this.#counts.failures.inc()
      // Said once, not twice a second.
      if (this.#isReached) this.#parts.logger.warn({ error }, 'catalog cannot be read, the last good state stays')
      this.#isReached = false
    }
  }

  /** With nothing to sell soon, a change may take a little longer to be seen, and an idle platform sleeps. */
  #waitMs(): number {
    const { pollMs = POLL_MS } = this.#settings
    if (this.#isMissed || !this.isLoaded) return Math.min(pollMs, RETRY_MS)
    for (const { state } of this.activities().values()) if (LIVE_STATES.includes(state)) return pollMs
    return Math.max(pollMs, QUIET_POLL_MS)
  }

  #applyAll(incoming: readonly IncomingDocument[]): void {
    const changed: string[] = []
    for (const document of incoming) {
      const applied = this.#documents.apply(document)
      if (applied === 'applied') changed.push(document.key)
      const refusal = applied === 'refused' ? this.#documents.refusal(document.key) : undefined
      if (refusal !== undefined) this.#sayRefused(refusal)
    }
    this.#tellAll(changed)
  }

  #endTrials(): void {
    const keys = this.#documents.endTrials(this.#parts.clock.monotonic())
    if (keys.length > 0) this.#parts.logger.warn({ keys }, 'trials that nothing followed are undone')
    this.#tellAll(keys)
  }

  #sayRefused({ key, revision, errors }: RefusedDocument): void {
    this.#counts.refusals.inc()
    this.#parts.logger.error({ key, revision, errors }, 'document refused, the last good one stays')
  }

  #tellAll(keys: readonly string[]): void {
    if (keys.length > 0) for (const listener of this.#listeners) this.#tell(listener, keys)
  }

  /** A listener that fails must not stop the others, nor the mirror. */
  #tell(listener: ChangeListener, keys: readonly string[]): void {
    try {
      listener(keys)
    } catch (error) {
      this.#parts.logger.error({ error }, 'a listener of the catalog failed')
    }
  }

  #declare(prefix: string): { refusals: Counter; failures: Counter; gaps: Counter; stale: Counter } {
    const { metrics, clock } = this.#parts
    metrics.gauge(`${prefix}_revision_count`, 'Revision that is applied', () => this.revision)
    metrics.gauge(`${prefix}_refused_count`, 'Documents whose newest version is refused', () => this.refused.length)
    metrics.gauge(`${prefix}_age_seconds`, 'Since the last poll that was answered', () =>
      this.#syncedAt === 0 ? -1 : (clock.monotonic() - this.#syncedAt) / 1000,
    )
    return {
      refusals: metrics.counter(`${prefix}_refused_total`, 'Documents that failed their checks'),
      failures: metrics.counter(`${prefix}_failed_polls_total`, 'Polls that got no answer'),
      gaps: metrics.counter(`${prefix}_gaps_total`, 'Batches after which the catalog had to be read'),
      stale: metrics.counter(`${prefix}_stale_batches_total`, 'Batches of a deposed leader, not taken'),
    }
  }
}
