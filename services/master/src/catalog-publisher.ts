/**
 * Publishes documents. What is queued is merged by key and goes out as one revision; what cannot go out stays queued.
 *
 * ```
 *   queue ─► pending (newest per key) ─ flush ─► Redis ─► revision
 *                 ▲ failed: back ◄───────┘         └ lower than the last: Redis was emptied ─► above it, all again
 * ```
 */

import type { Logger } from '@bigtap/kernel'
import type { CatalogStore, DocumentChange } from '@bigtap/store'

/** Collaborators. `allDocuments` is everything that the fronts should have. */
export interface PublisherParts {
  readonly catalog: Pick<CatalogStore, 'publish' | 'revision' | 'readSince' | 'ensureAbove'>
  readonly logger: Logger
  allDocuments(): DocumentChange[]
  onPublished(revision: number, keys: readonly string[]): void
}

/** Documents of one revision; more go out in several. */
export const CATALOG_LIMITS = { changesMax: 500 } as const
/** Revisions that may have been handed out since the last one that was kept. */
export const REVISION_SLACK = 10_000

/** The only writer of the catalog. */
export class CatalogPublisher {
  readonly #parts: PublisherParts
  readonly #pending = new Map<string, unknown>()
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

  queue(changes: readonly DocumentChange[]): void {
    for (const { key, body } of changes) this.#pending.set(key, body)
  }

  isPending(key: string): boolean {
    return this.#pending.has(key)
  }

  /** Publishes what waits; rejects when Redis is away, and keeps it. */
  async flush(): Promise<void> {
    if (this.#isFlushing || !this.#isPrimed) return
    this.#isFlushing = true
    try {
      while (this.#pending.size > 0) await this.#publishSome()
    } finally {
      this.#isFlushing = false
    }
  }

  /** At start: what Redis has already needs no new revision; what it has too much goes. Rejects when Redis is away. */
  async prime(): Promise<void> {
    const { catalog, onPublished } = this.#parts
    await this.reconcile()
    const published = new Map((await catalog.readSince(0)).map((doc) => [doc.key, doc]))
    const wanted = this.#parts.allDocuments()
    const keys = new Set(wanted.map(({ key }) => key))
    for (const { key, body } of wanted) {
      const there = published.get(key)
      published.delete(key)
      if (there !== undefined && sameJson(there.body, body)) onPublished(there.revision, [key])
      else this.#pending.set(key, body)
    }
    const isStray = (key: string) =>
      isOurs(key) && !(key.startsWith('status:') && keys.has(key.replace('status', 'sku')))
    for (const [key, { body }] of published) if (body !== null && isStray(key)) this.#pending.set(key, null)
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
    this.queue(this.#parts.allDocuments().filter(({ key }) => !this.#pending.has(key)))
  }

  async #publishSome(): Promise<void> {
    const { catalog, onPublished } = this.#parts
    const changes = [...this.#pending].slice(0, CATALOG_LIMITS.changesMax).map(([key, body]) => ({ key, body }))
    for (const { key } of changes) this.#pending.delete(key)
    const last = this.#last
    const revision = await catalog.publish(changes).catch((error: unknown) => {
      for (const { key, body } of changes) if (!this.#pending.has(key)) this.#pending.set(key, body)
      throw error
    })
    if (revision <= last) {
      this.queue(changes.filter(({ key }) => !this.#pending.has(key)))
      return this.#publishAllAbove()
    }
    this.recall(revision)
    onPublished(
      revision,
      changes.map(({ key }) => key),
    )
  }
}

function isOurs(key: string): boolean {
  return /^(activity|sku|status):/.test(key)
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
