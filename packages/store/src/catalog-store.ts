/** The live catalog in Redis: documents by key, each with the revision that it was published in. */

import type { Store } from './connection.ts'
import { loadScript, runScript } from './script.ts'

/** A document to publish; a null body deletes it. */
export interface DocumentChange {
  readonly key: string
  readonly body: unknown
}

/** A document as it was published; null when it was deleted. The body is not checked. */
export interface PublishedDocument {
  readonly key: string
  readonly revision: number
  readonly body: unknown
}

const REVISION = 'bt:{catalog}:revision'
const DOCS = 'bt:{catalog}:docs'
const CHANGES = 'bt:{catalog}:changes'
const PUBLISH = loadScript('publish-3')

/** Publishes and reads documents. Faults: STORE_FAILED. */
export class CatalogStore {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Publishes documents together as one new revision. */
  async publish(changes: readonly DocumentChange[]): Promise<number> {
    const args = changes.flatMap(({ key, body }) => [key, body === null ? '' : JSON.stringify(body)])
    return Number(await runScript(this.#store, PUBLISH, [REVISION, DOCS, CHANGES], args))
  }

  /** The newest revision; 0 when there is no catalog. */
  async revision(): Promise<number> {
    return Number((await this.#store.redis.get(REVISION)) ?? 0)
  }

  /** What has changed after a revision. A body that is no JSON is given as undefined. */
  async readSince(revision: number): Promise<PublishedDocument[]> {
    const keys = await this.#store.redis.zrangebyscore(CHANGES, `(${revision}`, '+inf')
    if (keys.length === 0) return []
    const texts = await this.#store.redis.hmget(DOCS, ...keys)
    return keys.map((key, index) => ({ key, ...parseText(texts[index] ?? '0|') }))
  }

  /** After Redis was emptied: lets the next revision be above one that the fronts may have seen. */
  async ensureAbove(revision: number): Promise<void> {
    if ((await this.revision()) < revision) await this.#store.redis.set(REVISION, revision)
  }
}

function parseText(text: string): { revision: number; body: unknown } {
  const bar = text.indexOf('|')
  const body = text.slice(bar + 1)
  return { revision: Number(text.slice(0, bar)), body: body === '' ? null : parseJson(body) }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // the reader's document check names the key and refuses it
  }
}
