/** The documents that a front holds: each checked whole before it replaces the one before. Pure. */

import {
  type ActivityDoc,
  type ActivityId,
  activityKey,
  type Parsed,
  parseActivityDoc,
  parseSkuDoc,
  parseSlotTableDoc,
  parseStatusDoc,
  type SkuDoc,
  type SkuId,
  SLOTS_KEY,
  type SlotTableDoc,
  type StatusDoc,
  skuKey,
  statusKey,
} from '@bigtap/domain'
import { hashText } from '@bigtap/kernel'

/** What a front reads of the catalog. */
export interface CatalogView {
  readonly revision: number
  /** Eight hexadecimal digits over all documents: equal on two nodes that hold the same. */
  readonly digest: string
  activities(): ReadonlyMap<ActivityId, ActivityDoc>
  activity(activityId: ActivityId): ActivityDoc | undefined
  sku(activityId: ActivityId, skuId: SkuId): SkuDoc | undefined
  status(activityId: ActivityId, skuId: SkuId): StatusDoc | undefined
  slotTable(): SlotTableDoc | undefined
}

/** A document as it was published; a null body deletes it, undefined was no JSON. */
export interface IncomingDocument {
  readonly key: string
  readonly revision: number
  readonly body: unknown
}

/** A document that failed its checks; the good one before it, if any, still stands. */
export interface RefusedDocument {
  readonly key: string
  readonly revision: number
  readonly errors: readonly string[]
}

/** What became of a document. `ignored` is a kind of a newer version, or older than what is held. */
export type Applied = 'applied' | 'refused' | 'ignored'

/** 100 activities of 400 SKUs, each with its status, are 80,100. One more than this is refused. */
export const DOCUMENTS_MAX = 100_000

type Good =
  | { kind: 'activity'; key: string; doc: ActivityDoc }
  | { kind: 'sku'; key: string; doc: SkuDoc }
  | { kind: 'status'; key: string; doc: StatusDoc }
  | { kind: 'slots'; key: string; doc: SlotTableDoc }

/** The held documents. */
export class Documents implements CatalogView {
  revision = 0
  readonly #held = new Map<string, { revision: number; hash: number }>()
  readonly #refused = new Map<string, RefusedDocument>()
  readonly #activities = new Map<ActivityId, ActivityDoc>()
  readonly #skus = new Map<string, SkuDoc>()
  readonly #statuses = new Map<string, StatusDoc>()
  #slots: SlotTableDoc | undefined
  #digest = 0

  get digest(): string {
    return (this.#digest >>> 0).toString(16).padStart(8, '0')
  }

  get size(): number {
    return this.#held.size
  }

  activities(): ReadonlyMap<ActivityId, ActivityDoc> {
    return this.#activities
  }

  activity(activityId: ActivityId): ActivityDoc | undefined {
    return this.#activities.get(activityId)
  }

  sku(activityId: ActivityId, skuId: SkuId): SkuDoc | undefined {
    return this.#skus.get(skuKey(activityId, skuId))
  }

  status(activityId: ActivityId, skuId: SkuId): StatusDoc | undefined {
    return this.#statuses.get(statusKey(activityId, skuId))
  }

  slotTable(): SlotTableDoc | undefined {
    return this.#slots
  }

  /** Documents whose newest version was refused. */
  refused(): RefusedDocument[] {
    return [...this.#refused.values()]
  }

  /** The catalog began anew (Redis was emptied and filled again): revisions count from the start, documents stay. */
  forgetRevisions(): void {
    this.revision = 0
    for (const held of this.#held.values()) held.revision = 0
  }

  /** Applies one document, or refuses it whole. */
  apply({ key, revision, body }: IncomingDocument): Applied {
    const held = this.#held.get(key)
    if (held !== undefined && held.revision > revision) return 'ignored'
    if (body === null) return this.#remove(key)
    const parsed = parseDocument(key, body)
    if (parsed === undefined) return 'ignored'
    const errors = parsed.ok ? this.#bounds(key) : parsed.errors
    if (!parsed.ok || errors.length > 0) {
      this.#refused.set(key, { key, revision, errors })
      return 'refused'
    }
    this.#refused.delete(key)
    const { value } = parsed
    if (value.kind === 'slots' && value.doc.epoch < (this.#slots?.epoch ?? 0)) return 'ignored'
    const hash = hashText(`${key}=${JSON.stringify(value.doc)}`)
    this.#digest ^= (held?.hash ?? 0) ^ hash
    this.#held.set(key, { revision, hash })
    this.#put(value)
    return 'applied'
  }

  #bounds(key: string): string[] {
    const isFull = this.#held.size >= DOCUMENTS_MAX && !this.#held.has(key)
    return isFull ? [`there are ${DOCUMENTS_MAX} documents already`] : []
  }

  #put({ kind, key, doc }: Good): void {
    if (kind === 'activity') this.#activities.set(doc.id, doc)
    else if (kind === 'sku') this.#skus.set(key, doc)
    else if (kind === 'status') this.#statuses.set(key, doc)
    else this.#slots = doc
  }

  #remove(key: string): Applied {
    const held = this.#held.get(key)
    this.#refused.delete(key)
    if (held === undefined) return 'ignored'
    this.#digest ^= held.hash
    this.#held.delete(key)
    this.#skus.delete(key)
    this.#statuses.delete(key)
    if (key === SLOTS_KEY) this.#slots = undefined
    if (key.startsWith('activity:')) this.#activities.delete(Number(key.slice('activity:'.length)))
    return 'applied'
  }
}

/** Reads a document by the kind that its key names; undefined for a kind that is not known here. */
function parseDocument(key: string, body: unknown): Parsed<Good> | undefined {
  const [kind] = key.split(':', 1)
  if (kind === 'activity') {
    return named(key, parseActivityDoc(body), 'activity', (doc) => activityKey(doc.id))
  }
  if (kind === 'sku') return named(key, parseSkuDoc(body), 'sku', (doc) => skuKey(doc.activityId, doc.id))
  if (kind === 'status') {
    return named(key, parseStatusDoc(body), 'status', (doc) => statusKey(doc.activityId, doc.skuId))
  }
  return key === SLOTS_KEY ? named(key, parseSlotTableDoc(body), 'slots', () => SLOTS_KEY) : undefined
}

/** A document whose own ids do not match its key is refused: it would replace another. */
function named<Kind extends Good['kind'], Doc>(
  key: string,
  parsed: Parsed<Doc>,
  kind: Kind,
  keyOf: (doc: Doc) => string,
): Parsed<Good> {
  if (!parsed.ok) return parsed
  const own = keyOf(parsed.value)
  if (own !== key) return { ok: false, errors: [`document of ${own} stands under ${key}`] }
  return { ok: true, value: { kind, key, doc: parsed.value } as unknown as Good }
}
