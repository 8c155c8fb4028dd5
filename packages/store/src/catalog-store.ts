/** The live catalog in Redis: documents by key, each with the revision that it was published in. */

import { DOCUMENT_BYTES_MAX } from '@bigtap/domain'
import { CodedError } from '@bigtap/kernel'
import type { Store } from './connection.ts'
import { documentHash } from './document-hash.ts'
import { loadScript, runScript } from './script.ts'

/** A document to publish; a null body deletes it. */
export interface DocumentChange {
  readonly key: string
  readonly body: unknown
}

/** Who publishes: the fence of the leader's lease. Left out only where there is no leader: tests and benches. */
export interface Publisher {
  readonly epoch?: number
}

/** A document as it was published. The body is not checked: null when it was deleted, undefined when it is no JSON or too long. */
export interface PublishedDocument {
  readonly key: string
  readonly revision: number
  readonly body: unknown
  /** Of key and text, as `documentHash` has it; 0 when it was deleted. */
  readonly hash?: number
  /** Length of its text in UTF-8. */
  readonly bytes?: number
}

/** Where the catalog stands: read in one step. */
export interface CatalogHead {
  /** The newest revision; 0 when there is no catalog. */
  readonly revision: number
  /** XOR of the hashes of all documents, eight hexadecimal digits; '' when nothing was published. */
  readonly digest: string
  /** The highest that has published. */
  readonly epoch: number
}

const REVISION = 'bt:{catalog}:revision'
const DOCS = 'bt:{catalog}:docs'
const CHANGES = 'bt:{catalog}:changes'
const DIGEST = 'bt:{catalog}:digest'
const EPOCH = 'bt:{catalog}:epoch'
const PUBLISH = {
  script: loadScript('publish-6'),
  keys: [REVISION, DOCS, CHANGES, 'bt:{catalog}:hashes', DIGEST, EPOCH],
}
/** Documents in one answer of Redis. */
const PAGE = 1_000

/** Publishes and reads documents. Faults: STORE_FAILED, and for publish STALE_EPOCH and DOCUMENT_TOO_LONG. */
export class CatalogStore {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /**
   * Publishes documents together as one new revision, and the digest with it. STALE_EPOCH: a higher epoch has published,
   * and nothing was changed. Without documents only the epoch is taken, and the revision stays.
   */
  async publish(changes: readonly DocumentChange[], { epoch }: Publisher = {}): Promise<number> {
    const args = changes.flatMap(({ key, body }) => argsOf(key, body === null ? '' : JSON.stringify(body)))
    return Number(await runScript(this.#store, PUBLISH.script, PUBLISH.keys, [epoch ?? '', ...args]))
  }

  /** The newest revision; 0 when there is no catalog. */
  async revision(): Promise<number> {
    return Number((await this.#store.redis.get(REVISION)) ?? 0)
  }

  /** Revision, digest and epoch as they were at one instant. */
  async head(): Promise<CatalogHead> {
    const [revision, digest, epoch] = await this.#store.redis.mget(REVISION, DIGEST, EPOCH)
    return { revision: Number(revision ?? 0), digest: digest ?? '', epoch: Number(epoch ?? 0) }
  }

  /** What has changed after a revision, in the order of revisions. */
  async readSince(revision: number): Promise<PublishedDocument[]> {
    const keys = await this.#store.redis.zrangebyscore(CHANGES, `(${revision}`, '+inf')
    const documents: PublishedDocument[] = []
    for (let at = 0; at < keys.length; at += PAGE) {
      const page = keys.slice(at, at + PAGE)
      const texts = await this.#store.redis.hmget(DOCS, ...page)
      for (const [index, key] of page.entries()) documents.push(parseText(key, texts[index] ?? '0|'))
    }
    return documents
  }

  /** After Redis was emptied: lets the next revision be above one that the fronts may have seen. */
  async ensureAbove(revision: number): Promise<void> {
    if ((await this.revision()) < revision) await this.#store.redis.set(REVISION, revision)
  }
}

function argsOf(key: string, text: string): [string, string, number] {
  const bytes = Buffer.byteLength(text)
  if (bytes > DOCUMENT_BYTES_MAX) {
    const message = `document ${key} has ${bytes} bytes, exceeds ${DOCUMENT_BYTES_MAX}`
    throw new CodedError({ code: 'DOCUMENT_TOO_LONG', message, data: { key, bytes } })
  }
  return [key, text, documentHash(key, text)]
}

function parseText(key: string, stored: string): PublishedDocument {
  const bar = stored.indexOf('|')
  const text = stored.slice(bar + 1)
  const bytes = Buffer.byteLength(text)
  const body = text === '' ? null : bytes > DOCUMENT_BYTES_MAX ? undefined : parseJson(text)
  return { key, revision: Number(stored.slice(0, bar)), body, bytes, hash: text === '' ? 0 : documentHash(key, text) }
}

/** A text `null` is no deletion. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) ?? undefined
  } catch {
    return undefined // the reader's document check names the key and refuses it
  }
}
