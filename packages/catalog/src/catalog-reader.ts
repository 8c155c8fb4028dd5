/** Reads the catalog into the documents: what is newer at each poll, everything when the digests differ. */

import type { Clock, Counter, Logger, Metrics } from '@bigtap/kernel'
import type { CatalogHead } from '@bigtap/store'
import type { Documents, IncomingDocument } from './documents.ts'

/** Where the documents come from; the store's CatalogStore is one. */
export interface CatalogFeed {
  head(): Promise<CatalogHead>
  readSince(revision: number): Promise<readonly IncomingDocument[]>
}

/** Collaborators. `apply` takes what was read; `onRemoved` hears what is no longer in the catalog. */
export interface CatalogReaderParts {
  readonly catalog: CatalogFeed
  readonly documents: Documents
  readonly logger: Logger
  readonly clock: Clock
  readonly metrics: Metrics
  apply(incoming: readonly IncomingDocument[]): void
  onRemoved(keys: readonly string[]): void
}

/** The digests are compared this often; a little less than the second that is promised, as polls are not exact. */
const COMPARE_MS = 900
/** After a whole reading that did not help, the next one waits this long. */
const REREAD_MS = 10_000

/**
 * ```
 *   read ─► head ─ older (began anew) ─► forget revisions
 *            └ newer, or something was missed ─► read since ─► apply
 *            └ each second, when nothing newer is on its way: digest ─ same ─► fine
 *                                                    └ differs ─► read all, once per pair ─ still ─► alarm
 * ```
 */
export class CatalogReader {
  readonly #parts: CatalogReaderParts
  readonly #counts: { rereads: Counter; healed: Counter; alarms: Counter }
  /** All documents up to this revision were read, or came whole over a link. */
  #readUpTo = 0
  #comparedAt = Number.NEGATIVE_INFINITY
  #rereadAt = Number.NEGATIVE_INFINITY
  #differing = ''

  constructor(service: string, parts: CatalogReaderParts) {
    this.#parts = parts
    const prefix = `bigtap_${service}_catalog`
    const { metrics } = parts
    this.#counts = {
      rereads: metrics.counter(`${prefix}_rereads_total`, 'Whole readings because the digests differed'),
      healed: metrics.counter(`${prefix}_healed_total`, 'Differences that a whole reading has healed'),
      alarms: metrics.counter(`${prefix}_differences_total`, 'Differences that a whole reading has not healed'),
    }
    metrics.gauge(`${prefix}_differs_count`, '1 while the digest differs from the published one', () =>
      this.#differing === '' ? 0 : 1,
    )
  }

  /** What is held differs from what is published, though everything was read again. */
  get isDiffering(): boolean {
    return this.#differing !== ''
  }

  /** A link has brought everything up to a revision. Its last one may not be whole yet, so that it is read again. */
  cameUpTo(revision: number): void {
    const { documents } = this.#parts
    documents.revision = Math.max(documents.revision, revision)
    this.#readUpTo = Math.max(this.#readUpTo, revision - 1)
  }

  /** One reading; `isMissed`: also when the catalog has no newer revision. Rejects when the catalog cannot be read. */
  async read(isMissed: boolean): Promise<void> {
    const { catalog, documents, logger, apply } = this.#parts
    const held = documents.revision // commands may pass the answer
    const head = await catalog.head()
    if (head.revision !== 0 && head.revision < held) {
      logger.warn({ held, found: head.revision }, 'the catalog began anew')
      documents.forgetRevisions()
      documents.revision = 0
      this.#readUpTo = 0
    }
    if (isMissed || head.revision > documents.revision) apply(await catalog.readSince(this.#readUpTo))
    this.#reached(head.revision)
    await this.#compare(head)
  }

  #reached(revision: number): void {
    const { documents } = this.#parts
    documents.revision = Math.max(documents.revision, revision)
    this.#readUpTo = Math.max(this.#readUpTo, revision)
  }

  async #compare(head: CatalogHead): Promise<void> {
    const { clock } = this.#parts
    const now = clock.monotonic()
    if (!this.#isComparable(head) || now - this.#comparedAt < COMPARE_MS) return
    this.#comparedAt = now
    const pair = this.#pairOf(head)
    if (pair === '') this.#differing = ''
    if (pair === '' || pair === this.#differing || now - this.#rereadAt < REREAD_MS) return
    await this.#reread(head)
  }

  /** Is what is held of the same revision, and is there a digest to compare with? */
  #isComparable({ revision, digest }: CatalogHead): boolean {
    return digest !== '' && revision === this.#parts.documents.revision
  }

  /** Names a difference; '' when there is none. Refused documents are none: they count as published. */
  #pairOf({ digest }: CatalogHead): string {
    const held = this.#parts.documents.publishedDigest
    return digest === held ? '' : `${digest} published, ${held} held`
  }

  async #reread(head: CatalogHead): Promise<void> {
    const { catalog, documents, logger, apply, onRemoved } = this.#parts
    this.#counts.rereads.inc()
    const before = this.#pairOf(head)
    const all = await catalog.readSince(0)
    documents.forgetRevisions(head.revision)
    apply(all)
    onRemoved(documents.removeForgotten())
    const after = await catalog.head()
    if (!this.#isComparable(after)) return // published meanwhile: the next comparison tells
    this.#differing = this.#pairOf(after)
    const fields = { revision: after.revision, before, now: this.#differing }
    if (this.#differing === '') {
      this.#counts.healed.inc()
      logger.warn(fields, 'the catalog was held wrongly, a whole reading has healed it')
      return
    }
    this.#rereadAt = this.#parts.clock.monotonic()
    this.#counts.alarms.inc()
    logger.error(fields, 'the digest differs from the published one, also after a whole reading')
  }
}
