/**
 * Publishes documents. What is queued is merged by key and goes out as one revision, the urgent before all others; what
 * cannot go out stays queued, and what no front would take does not go out at all.
 *
 * ```
 *   queue ─ checked ─► pending (newest per key) ─ flush ─► Redis, with our epoch ─► revision ─► told to the routers
 *                          ▲ failed: back ◄────────┘           └ lower than the last: Redis was emptied ─► all again
 * ```
 */

import type { Logger } from '@bigtap/kernel'
import type { CatalogStore, DocumentChange, PublishedDocument } from '@bigtap/store'
import type { PublishedChange } from './core/command-log.ts'
import { checkDocument } from './core/document-check.ts'
import { isUrgent } from './core/lanes.ts'

/** Collaborators. `allDocuments` is everything that the fronts should have. */
export interface PublisherParts {
  readonly catalog: Pick<CatalogStore, 'publish' | 'revision' | 'readSince' | 'ensureAbove'>
  readonly logger: Logger
  /** The fence of our leadership; a higher one in the catalog makes publishing reject with STALE_EPOCH. */
  readonly epoch: number
  /** May we act, by our own clock? */
  mayAct(): boolean
  allDocuments(): DocumentChange[]
  onPublished(revision: number, changes: readonly PublishedChange[]): void
  /** A document was not taken; what was published of it before stands. */
  onRefused(key: string, errors: readonly string[]): void
}

/** Documents of one revision; more go out in several. */
export const CATALOG_LIMITS = { changesMax: 500 } as const
/** Revisions that may have been handed out since the last one that was kept. */
export const REVISION_SLACK = 10_000

/** The only writer of the catalog. */
export class CatalogPublisher {
  readonly #parts: PublisherParts
  readonly #pending = new Map<string, PublishedChange>()
  readonly #published = new Map<string, unknown>()
  #last = 0
  #isFlushing = false
  #isPrimed = false

  constructor(parts: PublisherParts) {
    this.#parts = parts
  }

  /** The highest revision that was ever seen. */
  get lastRevision(): number {
    return this.#last
  }

  /** Is all that was queued published, after a first comparison with Redis? */
  get isSettled(): boolean {
    return this.#isPrimed && this.#pending.size === 0
  }

  /** Was it compared with Redis since the start? */
  get isPrimed(): boolean {
    return this.#isPrimed
  }

  /** The last revision that was kept, from before this start. */
  recall(revision: number): void {
    this.#last = Math.max(this.#last, revision)
  }

  /** What was published last of a document; undefined when nothing was, or it was deleted. */
  published(key: string): unknown {
    return this.#published.get(key)
  }

  /** Returns how many of them are to go out: what stands already, and what no front would take, does not. */
  queue(changes: readonly DocumentChange[]): number {
    return changes.filter(({ key, body }) => {
      if (!this.#pending.has(key) && this.#stands(key, body)) return false
      const errors = checkDocument(key, body)
      if (errors.length > 0) this.#parts.onRefused(key, errors)
      else this.#add(key, body)
      return errors.length === 0
    }).length
  }

  /** Does a document wait whose key begins so? */
  isPending(prefix: string): boolean {
    return [...this.#pending.keys()].some((key) => key.startsWith(prefix))
  }

  /** Publishes what waits; rejects when Redis is away, and keeps it. */
  async flush(): Promise<void> {
    if (this.#isFlushing || !this.#isPrimed || !this.#parts.mayAct()) return
    this.#isFlushing = true
    try {
      while (this.#pending.size > 0 && this.#parts.mayAct()) await this.#publishSome()
    } finally {
      this.#isFlushing = false
    }
  }

  /**
   * At start: takes the epoch, so that an older leader publishes nothing any more. What Redis has already needs no new
   * revision; what it has too much goes. `recall` may take from it what is wanted. Rejects when Redis is away.
   */
  async prime(recall: (documents: readonly PublishedDocument[]) => void = () => undefined): Promise<void> {
    const { catalog, onPublished, epoch } = this.#parts
    await catalog.publish([], { epoch })
    await this.reconcile()
    const documents = await catalog.readSince(0)
    recall(documents)
    const published = new Map(documents.map((doc) => [doc.key, doc]))
    const wanted = this.#parts.allDocuments()
    const keys = new Set(wanted.map(({ key }) => key))
    for (const { key, body } of published.values()) if (body !== null) this.#published.set(key, body)
    for (const { key, body } of wanted) {
      const there = published.get(key)
      published.delete(key)
      if (there !== undefined && sameJson(there.body, body))
        onPublished(there.revision, [{ key, body, isUrgent: false }])
      else this.queue([{ key, body }])
    }
    const isStray = (key: string) =>
      isOurs(key) && !(key.startsWith('status:') && keys.has(key.replace('status', 'sku')))
    for (const [key, { body }] of published) if (body !== null && isStray(key)) this.#add(key, null)
    this.#isPrimed = true
  }

  /** Was Redis emptied, or did it lose its last writes? Then everything is published again, above the last revision. */
  async reconcile(): Promise<void> {
    const last = this.#last // a publication may pass the question
    const found = await this.#parts.catalog.revision()
    if (found >= last) return this.recall(found)
    this.#parts.logger.warn({ found, last }, 'the catalog in redis is older than what was published')
    await this.#publishAllAbove()
  }

  async #publishAllAbove(): Promise<void> {
    await this.#parts.catalog.ensureAbove(this.#last + REVISION_SLACK)
    this.#published.clear()
    this.queue(this.#parts.allDocuments().filter(({ key }) => !this.#pending.has(key)))
  }

  async #publishSome(): Promise<void> {
    const { catalog, onPublished, epoch } = this.#parts
    const changes = this.#next()
    for (const { key } of changes) this.#pending.delete(key)
    const putBack = () => {
      for (const change of changes) if (!this.#pending.has(change.key)) this.#pending.set(change.key, change)
    }
    const last = this.#last
    const revision = await catalog.publish(changes, { epoch }).catch((error: unknown) => {
      putBack()
      throw error
    })
    if (revision <= last) {
      putBack()
      return this.#publishAllAbove()
    }
    this.recall(revision)
    for (const { key, body } of changes) {
      if (body === null) this.#published.delete(key)
      else this.#published.set(key, body)
    }
    onPublished(revision, changes)
  }

  /** All that is urgent, or some of the rest. */
  #next(): PublishedChange[] {
    const all = [...this.#pending.values()]
    const urgent = all.filter((change) => change.isUrgent)
    return (urgent.length > 0 ? urgent : all).slice(0, CATALOG_LIMITS.changesMax)
  }

  #stands(key: string, body: unknown): boolean {
    const published = this.#published.get(key)
    return published === undefined ? body === null : JSON.stringify(published) === JSON.stringify(body)
  }

  /** What was urgent and has not gone out stays urgent. */
  #add(key: string, body: unknown): void {
    const waits = this.#pending.get(key)?.isUrgent ?? false
    this.#pending.set(key, { key, body, isUrgent: waits || isUrgent(key, this.#published.get(key), body) })
  }
}

function isOurs(key: string): boolean {
  return /^(activity|sku|status):/.test(key) // not the slot table or the pressure: their keepers publish them
}

function sameJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]))
}
