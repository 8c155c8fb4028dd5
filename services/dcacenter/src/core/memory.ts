import { DIRT, type Dirt } from './figure-rules.ts'
import { type RawStats, SKUS_MAX } from './raw-stats.ts'
import { newSample, type Sample, takeFigures } from './sample.ts'

/** How much is kept. */
export interface MemoryLimits {
  readonly nodesMax: number
  readonly skusMax: number
  /** Samples of SKUs over all nodes. */
  readonly samplesMax: number
}

/** What is kept unless told otherwise: 100 limiters and 100 Middle nodes with 400 SKUs take a third of the samples. */
export const MEMORY_LIMITS: MemoryLimits = { nodesMax: 512, skusMax: SKUS_MAX, samplesMax: 262_144 }

/** A node that was silent this long does not count in sums any more, ms; at least three rounds of pulls. */
export const STALE_MS = 5_000
/** A node or SKU that was silent this long is not shown any more, ms. */
export const VANISH_MS = 60_000
/** Its last counters are kept this long, so that its return is not taken for growth, ms. */
const FORGET_MS = 3_600_000
/** Differences of less time make no rate, ms. */
const ELAPSED_MS_MIN = 50
/** A push is at most this old, or this far ahead, by our clock, ms. */
const PUSH_MS = { old: 10_000, ahead: 2_000 } as const

/** How stats came, and when: `now` counts ms from anywhere, `wall` since the epoch. */
export interface Arrival {
  readonly by: 'pull' | 'push'
  readonly now: number
  readonly wall: number
}

/** A node as it is known. */
export interface KnownNode {
  readonly id: string
  role: string
  address: string
  labels: Readonly<Record<string, string>>
  heardAt: number
  at: number
  readonly sample: Sample
  readonly skus: Map<KnownSku, Sample>
}

/** A SKU as it is known. `counts`: growth of the counters of all nodes since we first saw them. */
export interface KnownSku {
  readonly activityId: number
  readonly skuId: number
  readonly counts: Map<string, number>
  readonly nodes: Map<KnownNode, Sample>
  heardAt: number
  /** The newest set of ledger figures, and when it was true, by `now`. */
  ledger: { readonly figures: ReadonlyMap<string, number>; readonly at: number } | undefined
}

/** What fell, by reason. */
export type Refused = Dirt | 'skewed' | 'late' | 'nodes' | 'skus' | 'samples'
/** All reasons. */
export const REFUSED: readonly Refused[] = [...DIRT, 'skewed', 'late', 'nodes', 'skus', 'samples']

/** Last values of all nodes and SKUs. Bounded; what is beyond is refused and counted. */
export class Memory {
  readonly limits: MemoryLimits
  readonly refused = new Map<Refused, number>(REFUSED.map((reason) => [reason, 0]))
  /** Changes with everything that may change a sum. */
  version = 0
  /** See STALE_MS; the puller sets it when its rounds are longer. */
  staleMs = STALE_MS
  readonly #nodes = new Map<string, KnownNode>()
  readonly #skus = new Map<string, KnownSku>()
  readonly #counts = new Map<string, number>()
  #samples = 0

  constructor(limits: MemoryLimits = MEMORY_LIMITS) {
    this.limits = limits
  }

  /** Growth of the counters of all nodes since we first saw them. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts
  }

  /** Takes what a node told; false when all of it was refused. */
  apply(stats: RawStats, arrival: Arrival): boolean {
    const { now, wall } = arrival
    const node = this.#nodes.get(stats.nodeId) ?? this.#newNode(stats.nodeId, now)
    if (node === undefined) return this.#refuse('nodes')
    if (arrival.by === 'push') {
      if (stats.at < wall - PUSH_MS.old || stats.at > wall + PUSH_MS.ahead) return this.#refuse('skewed')
      if (stats.at <= node.at) return this.#refuse('late')
    }
    const elapsedMs = elapsedOf(node, stats.at, arrival)
    node.role = stats.role
    node.labels = stats.labels
    // A push has waited in its list; the node's clock tells how long.
    node.heardAt = arrival.by === 'push' ? now - Math.max(0, wall - stats.at) : now
    node.at = stats.at
    takeFigures(node.sample, stats.figures, this.#taking(elapsedMs, this.#counts))
    this.#applySkus(node, stats, elapsedMs)
    this.version++
    return true
  }

  /** The list of nodes says where a node is to be found. */
  noteAddress(id: string, address: string): void {
    const node = this.#nodes.get(id)
    if (node !== undefined) node.address = address
  }

  /** Nodes that spoke within the last minute. */
  *nodes(now: number): IterableIterator<KnownNode> {
    for (const node of this.#nodes.values()) if (isShown(node, now)) yield node
  }

  /** SKUs that somebody spoke of within the last minute. */
  *skus(now: number): IterableIterator<KnownSku> {
    for (const sku of this.#skus.values()) if (isShown(sku, now)) yield sku
  }

  node(id: string, now: number): KnownNode | undefined {
    const node = this.#nodes.get(id)
    return node !== undefined && isShown(node, now) ? node : undefined
  }

  sku(activityId: number, skuId: number, now: number): KnownSku | undefined {
    const sku = this.#skus.get(skuKey(activityId, skuId))
    return sku !== undefined && isShown(sku, now) ? sku : undefined
  }

  /** Do the values of a node still count in sums? */
  isFresh(node: KnownNode, now: number): boolean {
    return now - node.heardAt <= this.staleMs
  }

  /** Forgets what was silent too long; call it once a second. */
  expire(now: number): void {
    this.version++
    for (const sku of this.#skus.values()) if (!isShown(sku, now)) this.#forgetSku(sku)
    for (const node of this.#nodes.values()) if (now - node.heardAt > FORGET_MS) this.#forgetNode(node)
  }

  #applySkus(node: KnownNode, stats: RawStats, elapsedMs: number | undefined): void {
    const told = new Set<KnownSku>()
    for (const raw of stats.skus) {
      const sku = this.#skus.get(skuKey(raw.activityId, raw.skuId)) ?? this.#newSku(raw.activityId, raw.skuId)
      const sample = sku === undefined ? undefined : (node.skus.get(sku) ?? this.#newSample(node, sku))
      if (sku === undefined || sample === undefined) continue
      told.add(sku)
      sku.heardAt = Math.max(sku.heardAt, node.heardAt)
      sample.state = raw.state
      takeFigures(sample, raw.figures, this.#taking(elapsedMs, sku.counts))
      noteLedger(sku, sample, node.heardAt)
    }
    // Its counters stay, so that they are not counted again when the node speaks of the SKU again.
    for (const [sku, sample] of node.skus) if (!told.has(sku)) sample.gauges.clear()
  }

  #taking(elapsedMs: number | undefined, counts: Map<string, number>) {
    return {
      elapsedMs,
      onGrowth: (name: string, by: number) => void counts.set(name, (counts.get(name) ?? 0) + by),
      onDirt: (dirt: Dirt) => void this.#refuse(dirt),
    }
  }

  #newNode(id: string, now: number): KnownNode | undefined {
    if (this.#nodes.size >= this.limits.nodesMax && !this.#makeRoom(now)) return undefined
    const node: KnownNode = {
      ...{ id, role: '', address: '', labels: {}, heardAt: Number.NEGATIVE_INFINITY, at: Number.NEGATIVE_INFINITY },
      ...{ sample: newSample(), skus: new Map() },
    }
    this.#nodes.set(id, node)
    return node
  }

  /** Nodes that are shown never make room for others. */
  #makeRoom(now: number): boolean {
    let oldest: KnownNode | undefined
    for (const node of this.#nodes.values())
      if (!isShown(node, now) && node.heardAt <= (oldest?.heardAt ?? Number.POSITIVE_INFINITY)) oldest = node
    if (oldest !== undefined) this.#forgetNode(oldest)
    return oldest !== undefined
  }

  #newSku(activityId: number, skuId: number): KnownSku | undefined {
    if (this.#skus.size >= this.limits.skusMax) {
      this.#refuse('skus')
      return undefined
    }
    const maps = { counts: new Map<string, number>(), nodes: new Map<KnownNode, Sample>() }
    const sku = { activityId, skuId, ...maps, heardAt: Number.NEGATIVE_INFINITY, ledger: undefined }
    this.#skus.set(skuKey(activityId, skuId), sku)
    return sku
  }

  #newSample(node: KnownNode, sku: KnownSku): Sample | undefined {
    if (this.#samples >= this.limits.samplesMax) {
      this.#refuse('samples')
      return undefined
    }
    const sample = newSample()
    node.skus.set(sku, sample)
    sku.nodes.set(node, sample)
    this.#samples++
    return sample
  }

  #dropSample(node: KnownNode, sku: KnownSku): void {
    node.skus.delete(sku)
    sku.nodes.delete(node)
    this.#samples--
  }

  #forgetNode(node: KnownNode): void {
    for (const sku of node.skus.keys()) this.#dropSample(node, sku)
    this.#nodes.delete(node.id)
  }

  #forgetSku(sku: KnownSku): void {
    for (const node of sku.nodes.keys()) this.#dropSample(node, sku)
    this.#skus.delete(skuKey(sku.activityId, sku.skuId))
  }

  #refuse(reason: Refused): false {
    this.refused.set(reason, (this.refused.get(reason) ?? 0) + 1)
    return false
  }
}

/**
 * Time between two reports of a node. Its own clock knows best when it measured, as long as it runs like ours; a clock
 * that jumped says nothing, so then the arrivals count.
 */
function elapsedOf(node: KnownNode, at: number, { now }: Arrival): number | undefined {
  if (node.heardAt === Number.NEGATIVE_INFINITY) return undefined
  const byArrival = now - node.heardAt
  const byNode = at - node.at
  const isSteady = byNode > 0 && Math.abs(byNode - byArrival) <= Math.max(250, byArrival / 2)
  const elapsedMs = isSteady ? byNode : byArrival
  return elapsedMs >= ELAPSED_MS_MIN ? elapsedMs : undefined
}

/** Sets of one ledger are told by several nodes at different times: a newer one replaces what it names. */
function noteLedger(sku: KnownSku, { ledger }: Sample, heardAt: number): void {
  if (ledger === undefined) return
  const at = heardAt - ledger.ageMs
  if (sku.ledger === undefined) sku.ledger = { figures: ledger.figures, at }
  else if (at >= sku.ledger.at) sku.ledger = { figures: new Map([...sku.ledger.figures, ...ledger.figures]), at }
}

function isShown({ heardAt }: { heardAt: number }, now: number): boolean {
  return now - heardAt <= VANISH_MS
}

function skuKey(activityId: number, skuId: number): string {
  return `${activityId}:${skuId}`
}
