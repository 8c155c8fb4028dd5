/** The documents that a front holds: each checked whole before it replaces the one before. Pure. */

import {
  ABUSE_MODEL_KEY,
  ABUSE_RULES_KEY,
  type AbuseModelDoc,
  type AbuseRulesDoc,
  type ActivityDoc,
  type ActivityId,
  DOCUMENT_BYTES_MAX,
  type GoodDocument,
  type Parsed,
  PRESSURE_KEY,
  type PressureDoc,
  parseDocument,
  SHARES_KEY,
  type SharesDoc,
  type SkuDoc,
  type SkuId,
  SLOTS_KEY,
  type SlotTableDoc,
  type StatusDoc,
  skuKey,
  statusKey,
} from '@bigtap/domain'
import { documentHash } from '@bigtap/store'

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
  pressure(): PressureDoc | undefined
  shares(): SharesDoc | undefined
  abuseRules(): AbuseRulesDoc | undefined
  abuseModel(): AbuseModelDoc | undefined
}

/** A document as it was published; a null body deletes it, undefined was no JSON. */
export interface IncomingDocument {
  readonly key: string
  readonly revision: number
  readonly body: unknown
  /** Of key and text, and the text's length; reckoned from the body when they are left out. */
  readonly hash?: number
  readonly bytes?: number
}

/** A document that failed its checks; the good one before it, if any, still stands. */
export interface RefusedDocument {
  readonly key: string
  readonly revision: number
  readonly errors: readonly string[]
}

/** What became of a document. `ignored`: older than what is held, or the same, or a kind of a newer version. */
export type Applied = 'applied' | 'refused' | 'ignored'

/** What became of a trial; errors where it was refused. */
export interface Tried {
  readonly applied: Applied
  readonly errors: readonly string[]
}

/** 100 activities of 400 SKUs, each with its status, are 80,100. One more than this is refused. */
export const DOCUMENTS_MAX = 100_000
/** Refusals that are remembered; the oldest is forgotten. */
export const REFUSALS_MAX = 1_000
/** Deleted keys whose revision is remembered, against a late copy from before; the oldest is forgotten. */
export const DELETED_MAX = 10_000
/** Documents on trial at a time; one more is refused. */
export const TRIALS_MAX = 64

/**
 * What is known of a key. `revision` and `newestHash` are those of the newest published version, also when that was refused;
 * `hash` is that of what is applied, 0 when nothing is. `good` is what is applied, where its kind is known here.
 */
interface Entry {
  revision: number
  newestHash: number
  hash: number
  good: GoodDocument | undefined
}

/** The held documents. A trial lies over the published document of its key and is in no digest. */
export class Documents implements CatalogView {
  revision = 0
  readonly #entries = new Map<string, Entry>()
  readonly #refused = new Map<string, RefusedDocument>()
  readonly #deleted = new Map<string, number>()
  readonly #trials = new Map<string, { revision: number; endsAt: number }>()
  readonly #activities = new Map<ActivityId, ActivityDoc>()
  readonly #skus = new Map<string, SkuDoc>()
  readonly #statuses = new Map<string, StatusDoc>()
  /** Documents of which there is one, by their key. */
  readonly #only = new Map<string, GoodDocument>()
  #digest = 0
  #newestDigest = 0

  get digest(): string {
    return toHex(this.#digest)
  }

  /** The digest that the published documents have, refused ones among them: what the catalog's own must be. */
  get publishedDigest(): string {
    return toHex(this.#newestDigest)
  }

  get size(): number {
    return this.#entries.size
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
    return this.#onlyOne('slots', SLOTS_KEY)
  }

  pressure(): PressureDoc | undefined {
    return this.#onlyOne('pressure', PRESSURE_KEY)
  }

  shares(): SharesDoc | undefined {
    return this.#onlyOne('shares', SHARES_KEY)
  }

  abuseRules(): AbuseRulesDoc | undefined {
    return this.#onlyOne('abuse-rules', ABUSE_RULES_KEY)
  }

  abuseModel(): AbuseModelDoc | undefined {
    return this.#onlyOne('abuse-model', ABUSE_MODEL_KEY)
  }

  /** Documents whose newest version was refused. */
  refused(): RefusedDocument[] {
    return [...this.#refused.values()]
  }

  refusal(key: string): RefusedDocument | undefined {
    return this.#refused.get(key)
  }

  /** Up to `revision` what comes next counts, whatever was held: the catalog began anew, or is read whole. Documents stay. */
  forgetRevisions(revision = Number.POSITIVE_INFINITY): void {
    for (const entry of this.#entries.values()) if (entry.revision <= revision) entry.revision = 0
    this.#deleted.clear()
  }

  /** Removes what was not named since the revisions were forgotten, and returns the keys. */
  removeForgotten(): string[] {
    const forgotten = [...this.#entries].filter(([, { revision }]) => revision === 0).map(([key]) => key)
    return forgotten.filter((key) => this.#remove(key, 0) === 'applied')
  }

  /** Applies one published document, or refuses it whole. */
  apply(incoming: IncomingDocument): Applied {
    const { key, revision, body } = incoming
    const entry = this.#entries.get(key)
    if ((entry?.revision ?? this.#deleted.get(key) ?? 0) > revision) return 'ignored'
    if (body === null) return this.#remove(key, revision)
    this.#deleted.delete(key)
    const hash = incoming.hash ?? documentHash(key, JSON.stringify(body) ?? '')
    const wasTried = this.#isTrialBefore(revision, key) && this.#trials.delete(key)
    const isSame = entry !== undefined && entry.hash === hash && entry.newestHash === hash
    if (isSame && !wasTried) {
      entry.revision = revision
      return 'ignored'
    }
    return this.#replace(incoming, hash, this.#check(incoming))
  }

  /** Lays a document over the published one until `endsAt`. The next one that is published takes its place. */
  try(incoming: IncomingDocument, endsAt: number): Tried {
    const { key, body, revision } = incoming
    const entry = this.#entries.get(key)
    const isOld = revision > 0 && entry !== undefined && entry.revision > revision
    const checked = isOld ? undefined : this.#check(incoming)
    if (checked === undefined) return { applied: 'ignored', errors: [] }
    if (!checked.ok) return { applied: 'refused', errors: checked.errors }
    if (entry?.hash === documentHash(key, JSON.stringify(body))) {
      return { applied: this.endTrial(key) ? 'applied' : 'ignored', errors: [] }
    }
    if (this.#trials.size >= TRIALS_MAX && !this.#trials.has(key)) {
      return { applied: 'refused', errors: [`there are ${TRIALS_MAX} trials already`] }
    }
    this.#trials.set(key, { revision, endsAt })
    this.#put(checked.value)
    return { applied: 'applied', errors: [] }
  }

  /** What is published holds again. Was there a trial? */
  endTrial(key: string): boolean {
    if (!this.#trials.delete(key)) return false
    this.#restore(key)
    return true
  }

  /** Ends the trials that are over, and returns their keys. */
  endTrials(now: number): string[] {
    return [...this.#trials].filter(([key, { endsAt }]) => endsAt <= now && this.endTrial(key)).map(([key]) => key)
  }

  /** A trial goes past what was published before it was made: that one does not end it. */
  #isTrialBefore(revision: number, key: string): boolean {
    return revision > (this.#trials.get(key)?.revision ?? 0)
  }

  #replace({ key, revision }: IncomingDocument, hash: number, checked: Parsed<GoodDocument> | undefined): Applied {
    const isFull = this.#entries.size >= DOCUMENTS_MAX && !this.#entries.has(key)
    const errors = isFull
      ? [`there are ${DOCUMENTS_MAX} documents already`]
      : checked?.ok === false
        ? checked.errors
        : []
    const entry = this.#entries.get(key) ?? { revision, newestHash: 0, hash: 0, good: undefined }
    if (!isFull) this.#note(key, entry, revision, hash)
    if (errors.length > 0) {
      keep(this.#refused, key, { key, revision, errors }, REFUSALS_MAX)
      if (!this.#trials.has(key)) this.#restore(key) // a trial that lay over it may have ended
      return 'refused'
    }
    this.#refused.delete(key)
    this.#digest ^= entry.hash ^ hash
    entry.hash = hash
    entry.good = checked?.ok === true ? checked.value : undefined
    if (entry.good === undefined || this.#trials.has(key)) return 'ignored'
    this.#put(entry.good)
    return 'applied'
  }

  #note(key: string, entry: Entry, revision: number, hash: number): void {
    this.#newestDigest ^= entry.newestHash ^ hash
    entry.newestHash = hash
    entry.revision = revision
    this.#entries.set(key, entry)
  }

  #check({ key, body, bytes }: IncomingDocument): Parsed<GoodDocument> | undefined {
    if (bytes !== undefined && bytes > DOCUMENT_BYTES_MAX) {
      return { ok: false, errors: [`document has ${bytes} bytes, exceeds ${DOCUMENT_BYTES_MAX}`] }
    }
    const parsed = parseDocument(key, body)
    if (parsed?.ok !== true || parsed.value.kind !== 'slots') return parsed
    const { epoch } = parsed.value.doc
    const held = this.slotTable()?.epoch ?? 0
    return epoch < held ? { ok: false, errors: [`slot table of epoch ${epoch} is older than ${held}`] } : parsed
  }

  #onlyOne<Kind extends GoodDocument['kind']>(kind: Kind, key: string) {
    const good = this.#only.get(key)
    return good?.kind === kind ? (good.doc as Extract<GoodDocument, { kind: Kind }>['doc']) : undefined
  }

  #put(good: GoodDocument): void {
    const { kind, key, doc } = good
    if (kind === 'activity') this.#activities.set(doc.id, doc)
    else if (kind === 'sku') this.#skus.set(key, doc)
    else if (kind === 'status') this.#statuses.set(key, doc)
    else this.#only.set(key, good)
  }

  #restore(key: string): void {
    const good = this.#entries.get(key)?.good
    if (good === undefined) this.#take(key)
    else this.#put(good)
  }

  #remove(key: string, revision: number): Applied {
    const entry = this.#entries.get(key)
    const wasTried = this.#trials.delete(key)
    this.#refused.delete(key)
    keep(this.#deleted, key, revision, DELETED_MAX)
    if (entry === undefined && !wasTried) return 'ignored'
    if (entry !== undefined) {
      this.#digest ^= entry.hash
      this.#newestDigest ^= entry.newestHash
      this.#entries.delete(key)
    }
    this.#take(key)
    return 'applied'
  }

  #take(key: string): void {
    this.#skus.delete(key)
    this.#statuses.delete(key)
    this.#only.delete(key)
    if (key.startsWith('activity:')) this.#activities.delete(Number(key.slice('activity:'.length)))
  }
}

/** Puts a value last; where there are too many the first falls. */
function keep<Value>(map: Map<string, Value>, key: string, value: Value, max: number): void {
  map.delete(key)
  const [oldest] = map.keys()
  if (oldest !== undefined && map.size >= max) map.delete(oldest)
  map.set(key, value)
}

function toHex(digest: number): string {
  return (digest >>> 0).toString(16).padStart(8, '0')
}
