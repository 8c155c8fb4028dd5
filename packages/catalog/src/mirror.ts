/** A front's mirror of the live catalog: asks for the revision, pulls what changed, keeps the last good state. */

import type { ActivityDoc, ActivityId, PressureDoc, SkuDoc, SkuId, SlotTableDoc, StatusDoc } from '@bigtap/domain'
import type { Clock, Counter, Logger, Metrics } from '@bigtap/kernel'
import { type CatalogView, Documents, type IncomingDocument, type RefusedDocument } from './documents.ts'

/** Whose mirror it is (its metrics carry the name), and how often the revision is asked for. */
export interface MirrorSettings {
  readonly service: string
  readonly pollMs: number
}

/** Every front still reaches the newest revision within a second. */
const QUIET_POLL_MS = 600
const LIVE_STATES: readonly string[] = ['scheduled', 'preloading', 'armed', 'open', 'paused']

/** Where the documents come from; the store's CatalogStore is one. */
export interface CatalogFeed {
  /** The newest revision; 0 when there is no catalog. */
  revision(): Promise<number>
  readSince(revision: number): Promise<readonly IncomingDocument[]>
}

/** Collaborators of a mirror. */
export interface MirrorParts {
  readonly catalog: CatalogFeed
  readonly logger: Logger
  readonly clock: Clock
  readonly metrics: Metrics
}

/** Called after documents were applied, with the keys that changed. */
export type ChangeListener = (keys: readonly string[]) => void

/**
 * ```
 *   idle ─start─► following: every pollMs  revision? ─ same ─► nothing
 *                                           ├ newer ─► read since ours ─► check each ─► apply ─► tell listeners
 *                                           ├ older (began anew) ─► read all, what is not named stays
 *                                           └ none (emptied), or no answer ─► the last good state stays
 * ```
 */
export class Mirror implements CatalogView {
  readonly #settings: MirrorSettings
  readonly #parts: MirrorParts
  readonly #documents = new Documents()
  readonly #listeners: ChangeListener[] = []
  readonly #refusals: Counter
  readonly #failures: Counter
  #state: 'idle' | 'following' | 'stopped' = 'idle'
  #timer: NodeJS.Timeout | undefined
  #syncedAt = 0
  #isReached = true

  constructor(settings: MirrorSettings, parts: MirrorParts) {
    this.#settings = settings
    this.#parts = parts
    const { metrics, clock } = parts
    const prefix = `bigtap_${settings.service}_catalog`
    this.#refusals = metrics.counter(`${prefix}_refused_total`, 'Documents that failed their checks')
    this.#failures = metrics.counter(`${prefix}_failed_polls_total`, 'Polls that got no answer')
    metrics.gauge(`${prefix}_revision_count`, 'Revision that is applied', () => this.revision)
    metrics.gauge(`${prefix}_age_seconds`, 'Since the last poll that was answered', () =>
      this.#syncedAt === 0 ? -1 : (clock.monotonic() - this.#syncedAt) / 1000,
    )
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

  /** Adds a listener. */
  onChange(listener: ChangeListener): void {
    this.#listeners.push(listener)
  }

  /** Reads once, then follows. A catalog that cannot be reached yet is tried again; it does not reject. */
  async start(): Promise<void> {
    if (this.#state !== 'idle') return
    this.#state = 'following'
    await this.#round()
  }

  stop(): void {
    this.#state = 'stopped'
    clearTimeout(this.#timer)
  }

  /** One round by hand: rejects when the catalog cannot be read. */
  async pull(): Promise<void> {
    const { catalog, clock, logger } = this.#parts
    const newest = await catalog.revision()
    if (newest !== 0 && newest < this.revision) {
      logger.warn({ held: this.revision, found: newest }, 'the catalog began anew')
      this.#documents.forgetRevisions()
    }
    if (newest > this.revision) this.#applyAll(await catalog.readSince(this.revision), newest)
    this.#syncedAt = clock.monotonic()
  }

  async #round(): Promise<void> {
    try {
      await this.pull()
      this.#isReached = true
    } catch (error) {
      this.#failures.inc()
      // Said once, not five times a second.
      if (this.#isReached) this.#parts.logger.warn({ error }, 'catalog cannot be read, the last good state stays')
      this.#isReached = false
    }
    if (this.#state === 'following') this.#timer = setTimeout(() => void this.#round(), this.#waitMs())
  }

  /** With nothing to sell soon, a change may take a little longer to be seen, and an idle platform sleeps. */
  #waitMs(): number {
    const { pollMs } = this.#settings
    for (const { state } of this.activities().values()) if (LIVE_STATES.includes(state)) return pollMs
    return Math.max(pollMs, QUIET_POLL_MS)
  }

  #applyAll(incoming: readonly IncomingDocument[], newest: number): void {
    const changed: string[] = []
    let { revision } = this.#documents
    for (const document of incoming) {
      revision = Math.max(revision, document.revision)
      const applied = this.#documents.apply(document)
      if (applied === 'applied') changed.push(document.key)
      if (applied === 'refused') this.#sayRefused(document.key)
    }
    this.#documents.revision = Math.max(revision, newest)
    if (changed.length > 0) for (const listener of this.#listeners) this.#tell(listener, changed)
  }

  #sayRefused(key: string): void {
    this.#refusals.inc()
    const errors = this.refused.find((one) => one.key === key)?.errors
    this.#parts.logger.error({ key, errors }, 'document refused, the last good one stays')
  }

  /** A listener that fails must not stop the others, nor the mirror. */
  #tell(listener: ChangeListener, keys: readonly string[]): void {
    try {
      listener(keys)
    } catch (error) {
      this.#parts.logger.error({ error }, 'a listener of the catalog failed')
    }
  }
}

/** Makes a mirror; start() begins. */
export function createMirror(settings: MirrorSettings, parts: MirrorParts): Mirror {
  return new Mirror(settings, parts)
}
