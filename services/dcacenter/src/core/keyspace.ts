import { parseId } from '@bigtap/domain'
import { hashText } from '@bigtap/kernel'
import type { History } from './history.ts'
import type { Memory } from './memory.ts'
import { type Fields, labelsIn, numbersIn, type Shapes, shapeAll, shapeNode, shapeSku } from './shape.ts'

/** What dcacenter tells once a second: totals, SKUs and nodes in one message. */
export interface Snapshot {
  readonly at: number
  readonly totals: Record<string, number>
  readonly skus: readonly SkuRow[]
  readonly nodes: readonly NodeRow[]
  readonly activities: readonly ActivityRow[]
}

/** The sums of an activity in a snapshot. */
export interface ActivityRow {
  readonly activityId: number
  readonly figures: Record<string, number>
}

/** A SKU in a snapshot and in the hash `skus`. */
export interface SkuRow {
  readonly activityId: number
  readonly skuId: number
  readonly state: string
  readonly figures: Record<string, number>
}

/** A node in a snapshot and in the hash `nodes`. */
export interface NodeRow {
  readonly id: string
  readonly role: string
  readonly labels: Record<string, string>
  readonly figures: Record<string, number>
}

/** Sums are used again for so long when nothing has changed, ms. */
const SHAPES_MS = 100

/** Types of keys, in Redis' words. */
export type KeyType = 'hash' | 'string' | 'none'

/**
 * Memory and history as the keys of a database; ages are computed at the read.
 *
 *   node:{id}  nodes  sku:{activity}:{sku}  skus  activity:{id}  totals     hashes
 *   series:{key}:{field}                                                    JSON of [at, value] pairs
 */
export class Keyspace {
  readonly #memory: Memory
  readonly #history: History
  readonly #now: () => number
  #shapes: { readonly version: number; readonly at: number; readonly all: Shapes } | undefined
  #index: { readonly version: number; readonly keys: readonly [hash: number, key: string][] } | undefined

  constructor({ memory, history, now }: { memory: Memory; history: History; now: () => number }) {
    this.#memory = memory
    this.#history = history
    this.#now = now
  }

  type(key: string): KeyType {
    if (key.startsWith('series:')) return this.text(key) === undefined ? 'none' : 'string'
    return this.hash(key) === undefined ? 'none' : 'hash'
  }

  /** The fields of a hash; undefined when there is no such key. */
  hash(key: string): Fields | undefined {
    const memory = this.#memory
    const now = this.#now()
    if (key === 'totals') return this.#shapesNow(now).totals
    if (key === 'nodes') return notEmpty(new Map(this.#nodeRows(now).map((row) => [row.id, JSON.stringify(row)])))
    if (key === 'skus')
      return notEmpty(new Map(this.#skuRows(now).map((row) => [`${row.activityId}:${row.skuId}`, JSON.stringify(row)])))
    if (key.startsWith('node:')) {
      const node = memory.node(key.slice(5), now)
      return node && shapeNode(node, now)
    }
    const [kind, first, second, ...rest] = key.split(':')
    const id = parseId(first)
    const skuId = parseId(second)
    if (kind === 'activity' && id !== undefined && second === undefined) return this.#shapesNow(now).activities.get(id)
    if (kind !== 'sku' || id === undefined || skuId === undefined || rest.length > 0) return undefined
    const sku = memory.sku(id, skuId, now)
    return sku && shapeSku(memory, sku, now)
  }

  /** A series as JSON; undefined when there is none. */
  text(key: string): string | undefined {
    const colon = key.lastIndexOf(':')
    if (!key.startsWith('series:') || colon < 8) return undefined
    const pairs = this.#history.read(key.slice(7, colon), key.slice(colon + 1))
    return pairs && JSON.stringify(pairs)
  }

  *keys(): IterableIterator<string> {
    const now = this.#now()
    const activities = new Set<number>()
    let nodes = 0
    yield 'totals'
    for (const { id } of this.#memory.nodes(now)) {
      if (nodes++ === 0) yield 'nodes'
      yield `node:${id}`
    }
    for (const { activityId, skuId } of this.#memory.skus(now)) {
      if (activities.size === 0) yield 'skus'
      if (!activities.has(activityId)) yield `activity:${activityId}`
      activities.add(activityId)
      yield `sku:${activityId}:${skuId}`
    }
    for (const [key, field] of this.#history.names()) yield `series:${key}:${field}`
  }

  /**
   * Keys from a cursor on, ordered by their hash: a key that is there all the time is found once, whatever comes and goes
   * meanwhile. Keys of one hash stay together, so there may be a few more than `count`. Cursor 0 is the beginning and the end.
   */
  scan(cursor: number, count: number): { next: number; keys: string[] } {
    const index = this.#keyIndex()
    let at = firstAtLeast(index, cursor)
    const keys: string[] = []
    while (at < index.length && (keys.length < count || index[at]?.[0] === index[at - 1]?.[0]))
      keys.push(index[at++]?.[1] ?? '')
    return { next: index[at]?.[0] ?? 0, keys }
  }

  /** All in one; `at`: ms since the epoch. */
  snapshot(at: number): Snapshot {
    const now = this.#now()
    const { totals, activities } = this.#shapesNow(now)
    return {
      ...{ at, totals: numbersIn(totals), skus: this.#skuRows(now), nodes: this.#nodeRows(now) },
      activities: [...activities].map(([activityId, fields]) => ({ activityId, figures: numbersIn(fields) })),
    }
  }

  #nodeRows(now: number): NodeRow[] {
    return [...this.#memory.nodes(now)].map((node) => {
      const fields = shapeNode(node, now)
      return { id: node.id, role: node.role, labels: labelsIn(fields), figures: numbersIn(fields) }
    })
  }

  #skuRows(now: number): SkuRow[] {
    return [...this.#shapesNow(now).skus].map(([{ activityId, skuId }, fields]) => ({
      ...{ activityId, skuId, state: String(fields.get('state')), figures: numbersIn(fields) },
    }))
  }

  /** Summed up once per change, however often it is asked for; ages in it are at most 100 ms behind. */
  #shapesNow(now: number): Shapes {
    const { version } = this.#memory
    const last = this.#shapes
    if (last !== undefined && last.version === version && now - last.at < SHAPES_MS) return last.all
    const all = shapeAll(this.#memory, now)
    this.#shapes = { version, at: now, all }
    return all
  }

  #keyIndex(): readonly [number, string][] {
    const { version } = this.#memory
    if (this.#index?.version !== version) {
      // Never 0: that is the cursor of the beginning.
      const keys = [...this.keys()].map((key): [number, string] => [(hashText(key) >>> 0) + 1, key])
      this.#index = { version, keys: keys.sort(([a], [b]) => a - b) }
    }
    return this.#index.keys
  }
}

function firstAtLeast(index: readonly [number, string][], cursor: number): number {
  let low = 0
  let high = index.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((index[middle]?.[0] ?? 0) < cursor) low = middle + 1
    else high = middle
  }
  return low
}

function notEmpty(fields: Fields): Fields | undefined {
  return fields.size === 0 ? undefined : fields
}
