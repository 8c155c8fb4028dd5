/**
 * A front's mirror of the live documents.
 *
 * ```
 * each pollMs: revision in Redis ── newer? ──► read what changed ──► check each document ──► replace the old one
 * ```
 * A document that fails its checks is refused whole, the last good one stays, and the refusal is counted and listed. An
 * emptied or unreachable Redis changes nothing here.
 */

import {
  type ActivityDoc,
  type Parsed,
  parseActivityDoc,
  parseSkuDoc,
  parseSlotTableDoc,
  parseStatusDoc,
  type SkuDoc,
  SLOTS_KEY,
  type SlotTableDoc,
  type StatusDoc,
} from '@bigtap/domain'
import { type Clock, hashText, type Logger, type Metrics } from '@bigtap/kernel'
import type { CatalogStore, PublishedDocument } from '@bigtap/store'

/** How the mirror follows. */
export interface MirrorSettings {
  readonly service: string
  readonly pollMs: number
}

/** What the mirror works with. */
export interface MirrorParts {
  readonly catalog: CatalogStore
  readonly logger: Logger
  readonly metrics: Metrics
  readonly clock: Clock
}

/** A document that was refused. */
export interface RefusedDocument {
  readonly key: string
  readonly revision: number
  readonly errors: readonly string[]
}

const REFUSED_MAX = 100
const BODY_CHARS_MAX = 262_144
const DOCUMENTS_MAX = 20_000

/** The live documents, as last published and checked. Look-ups allocate nothing. */
export class Mirror {
  readonly #settings: MirrorSettings
  readonly #parts: MirrorParts
  readonly #activities = new Map<number, ActivityDoc>()
  readonly #skus = new Map<number, Map<number, SkuDoc>>()
  readonly #statuses = new Map<number, Map<number, StatusDoc>>()
  readonly #revisions = new Map<string, number>()
  readonly #listeners: (() => void)[] = []
  readonly #refused = new Map<string, RefusedDocument>()
  #slots: SlotTableDoc | undefined
  #revision = 0
  #digest = 0
  #timer: NodeJS.Timeout | undefined
  #isPulling = false
  #hasPulled = false

  constructor(settings: MirrorSettings, parts: MirrorParts) {
    this.#settings = settings
    this.#parts = parts
    const prefix = `bigtap_${settings.service}_catalog`
    parts.metrics.gauge(`${prefix}_revision`, 'newest revision applied', () => this.#revision)
    parts.metrics.gauge(
      `${prefix}_refused_documents`,
      'documents refused and not yet replaced',
      () => this.#refused.size,
    )
  }

  /** Newest revision that was applied. */
  get revision(): number {
    return this.#revision
  }

  /** Digest over every document's key and revision; equal on nodes that hold the same. */
  get digest(): string {
    return this.#digest.toString(16).padStart(8, '0')
  }

  /** Has the catalog been read at least once? */
  get isLoaded(): boolean {
    return this.#hasPulled
  }

  get activities(): ReadonlyMap<number, ActivityDoc> {
    return this.#activities
  }

  get slotTable(): SlotTableDoc | undefined {
    return this.#slots
  }

  get refused(): readonly RefusedDocument[] {
    return [...this.#refused.values()]
  }

  activity(activityId: number): ActivityDoc | undefined {
    return this.#activities.get(activityId)
  }

  sku(activityId: number, skuId: number): SkuDoc | undefined {
    return this.#skus.get(activityId)?.get(skuId)
  }

  status(activityId: number, skuId: number): StatusDoc | undefined {
    return this.#statuses.get(activityId)?.get(skuId)
  }

  /** Called after each pull that changed something. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.pull(), this.#settings.pollMs)
    void this.pull()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Reads what is new; a fault leaves everything as it is, for the next round. */
  async pull(): Promise<void> {
    if (this.#isPulling) return
    this.#isPulling = true
    try {
      const newest = await this.#parts.catalog.revision()
      if (newest > this.#revision) {
        for (const document of await this.#parts.catalog.readSince(this.#revision)) this.apply(document)
        this.#revision = Math.max(this.#revision, newest)
        for (const listener of this.#listeners) listener()
      }
      this.#hasPulled = true
    } catch (error) {
      this.#parts.logger.debug({ error }, 'catalog could not be read')
    } finally {
      this.#isPulling = false
    }
  }

  /** Applies one document if it is newer and sound; false when it was refused or old. */
  apply(document: PublishedDocument): boolean {
    const { key, revision, body } = document
    if (revision <= (this.#revisions.get(key) ?? 0)) return false
    const errors = this.#errorsOf(document)
    if (errors.length > 0) {
      if (this.#refused.size < REFUSED_MAX) this.#refused.set(key, { key, revision, errors })
      this.#parts.logger.error(
        { key, revision, errors: errors.slice(0, 5) },
        'document refused, the last good one stays',
      )
      return false
    }
    this.#refused.delete(key)
    this.#digest ^= hashText(`${key}@${this.#revisions.get(key) ?? 0}`) ^ hashText(`${key}@${revision}`)
    this.#digest >>>= 0
    this.#revisions.set(key, revision)
    if (body === null) this.#remove(key)
    return true
  }

  #errorsOf({ key, body }: PublishedDocument): readonly string[] {
    if (body === null) return []
    if (body === undefined) return ['body is no JSON']
    if (JSON.stringify(body).length > BODY_CHARS_MAX) return [`body is longer than ${BODY_CHARS_MAX} characters`]
    if (!this.#revisions.has(key) && this.#revisions.size >= DOCUMENTS_MAX)
      return [`more than ${DOCUMENTS_MAX} documents`]
    const [kind = ''] = key.split(':')
    switch (kind) {
      case 'activity':
        return keep(parseActivityDoc(body), (doc) => this.#activities.set(doc.id, doc))
      case 'sku':
        return keep(parseSkuDoc(body), (doc) => nested(this.#skus, doc.activityId).set(doc.id, doc))
      case 'status':
        return keep(parseStatusDoc(body), (doc) => nested(this.#statuses, doc.activityId).set(doc.skuId, doc))
      case SLOTS_KEY:
        return keep(parseSlotTableDoc(body), (doc) => {
          if (doc.epoch >= (this.#slots?.epoch ?? 0)) this.#slots = doc
        })
      default:
        return [] // a kind of a later version: its revision counts, its content is not ours
    }
  }

  #remove(key: string): void {
    const [kind, activity, sku] = key.split(':')
    if (kind === 'activity') this.#activities.delete(Number(activity))
    if (kind === 'sku') this.#skus.get(Number(activity))?.delete(Number(sku))
    if (kind === 'status') this.#statuses.get(Number(activity))?.delete(Number(sku))
  }
}

function keep<T>(parsed: Parsed<T>, store: (value: T) => unknown): readonly string[] {
  if (!parsed.ok) return parsed.errors
  store(parsed.value)
  return []
}

function nested<T>(maps: Map<number, Map<number, T>>, id: number): Map<number, T> {
  const found = maps.get(id) ?? new Map<number, T>()
  maps.set(id, found)
  return found
}
