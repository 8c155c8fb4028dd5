/** The links to Middle's nodes: asks of one event-loop turn leave in one frame per node. */

import type { SlotTableDoc } from '@bigtap/domain'
import { type Clock, type Counter, type Logger, type Metrics, type Random, slotOf } from '@bigtap/kernel'
import {
  AskColumns,
  askBatchBytesMax,
  decodeVerdictBatch,
  encodeAskBatch,
  KIND,
  type Kind,
  VerdictColumns,
} from '@bigtap/protocol'
import { Batcher, createDialer, type Dialer } from '@bigtap/transport'
import { LANES_MAX } from './core/shedding.ts'
import type { Asker } from './pipeline.ts'

/** Who we are on the links, and the time that an ask has. */
export interface MiddleLinksSettings {
  readonly nodeId: string
  readonly clusterSecret: string
  readonly askMsMax: number
}

/** Collaborators. `onVerdict` is called per row; `onUnsent` for an ask that did not leave: `isLost`, for want of a link. */
export interface MiddleLinksParts {
  readonly logger: Logger
  readonly metrics: Metrics
  readonly clock: Clock
  readonly random: Random
  /** Makes a link; another one in a simulation. */
  readonly dial?: typeof createDialer
  onVerdict(verdicts: VerdictColumns, row: number, nodeId: string): void
  /** What a node says of its own threshold, a rank; 0 for none. Before the verdicts of its frame. */
  onShedFrom(lane: number, rank: number): void
  onUnsent(askId: number, isLost: boolean): void
  /** A link was lost: what was asked on it is answered no more. */
  onLost(nodeId: string): void
  /** Slots have other owners. */
  onMoved(isMoved: (uid: number) => boolean): void
}

/** 256 asks are about 5 kB: a full batch leaves before the turn ends. */
export const BATCH_ASKS_MAX = 256
/** Verdicts in one frame that we read; Middle's batches are smaller. */
export const BATCH_VERDICTS_MAX = 8_192

interface Node {
  readonly id: string
  readonly address: string
  readonly dialer: Dialer
  readonly asks: AskColumns
  readonly batcher: Batcher
  /** Number of the node among those that there were; further ones than LANES_MAX share. */
  readonly lane: number
}

/** One link per node of the slot table. */
export class MiddleLinks implements Asker {
  readonly #settings: MiddleLinksSettings
  readonly #parts: MiddleLinksParts
  readonly #verdicts = new VerdictColumns(BATCH_VERDICTS_MAX)
  readonly #bytes = Buffer.alloc(askBatchBytesMax(BATCH_ASKS_MAX))
  readonly #byId = new Map<string, Node>()
  readonly #frames: Counter
  #table: SlotTableDoc | undefined
  #owners: readonly (Node | undefined)[] = []
  #asked = 0
  #dialed = 0

  constructor(settings: MiddleLinksSettings, parts: MiddleLinksParts) {
    this.#settings = settings
    this.#parts = parts
    const { metrics } = parts
    this.#frames = metrics.counter('bigtap_limiter_ask_frames_total', 'Frames of asks sent to Middle')
    metrics.gauge('bigtap_limiter_asked_total', 'Asks handed to the links', () => this.#asked)
    metrics.gauge('bigtap_limiter_middle_ready_count', 'Middle nodes whose link is ready', () => this.readyCount)
  }

  get readyCount(): number {
    return [...this.#byId.values()].filter((node) => node.dialer.state === 'ready').length
  }

  ask(askId: number, uid: number, activityId: number, skuId: number): boolean {
    const node = this.#owners[slotOf(uid)]
    if (node === undefined || node.dialer.state !== 'ready') return false
    if (!node.asks.push(askId, uid, activityId, skuId, 1)) return false
    this.#asked++
    node.batcher.added()
    return true
  }

  /** The lane of the node that owns a buyer; -1 when there is none, or no link to it. */
  laneOf(uid: number): number {
    const node = this.#owners[slotOf(uid)]
    return node === undefined || node.dialer.state !== 'ready' ? -1 : node.lane
  }

  /** Takes the slot table over: dials new nodes, leaves those that are in it no more. */
  follow(table: SlotTableDoc | undefined): void {
    if (table === undefined || table === this.#table) return
    this.#table = table
    const nodes = table.nodes.map(({ id, address }) => this.#nodeOf(id, address))
    for (const [id, node] of this.#byId) {
      if (nodes.includes(node)) continue
      this.#byId.delete(id)
      void node.dialer.stop()
    }
    const before = this.#owners
    this.#owners = table.owners.map((owner) => nodes[owner])
    this.#parts.onMoved((uid) => before[slotOf(uid)] !== this.#owners[slotOf(uid)])
  }

  /** Is the node the owner of this buyer by the newest table? */
  isOwner(nodeId: string, uid: number): boolean {
    return this.#owners[slotOf(uid)]?.id === nodeId
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#byId.values()].map((node) => node.dialer.stop()))
    this.#byId.clear()
    this.#owners = []
  }

  #nodeOf(id: string, address: string): Node {
    const known = this.#byId.get(id)
    if (known?.address === address) return known
    if (known !== undefined) void known.dialer.stop()
    const node = this.#dial(id, address)
    this.#byId.set(id, node)
    return node
  }

  #dial(id: string, address: string): Node {
    const { nodeId, clusterSecret } = this.#settings
    const { logger, metrics, clock, random, dial = createDialer } = this.#parts
    const lane = this.#dialed++ % LANES_MAX
    const dialer = dial(
      { address, nodeId, role: 'limiter', clusterSecret, peerNodeId: id },
      {
        ...{ logger, metrics, clock, random },
        onFrame: (_link, kind, _correlation, body) => this.#onFrame(id, lane, kind, body),
        onClose: () => this.#parts.onLost(id),
      },
    )
    const asks = new AskColumns(BATCH_ASKS_MAX)
    const batcher = new Batcher(
      { itemsMax: BATCH_ASKS_MAX, bytesMax: Number.POSITIVE_INFINITY },
      { flush: () => this.#flush(asks, dialer) },
    )
    dialer.start()
    return { id, address, dialer, asks, batcher, lane }
  }

  #flush(asks: AskColumns, dialer: Dialer): void {
    asks.budgetMs = this.#settings.askMsMax
    const length = encodeAskBatch(asks, this.#bytes)
    const isSent = dialer.send(KIND.ask, 0, this.#bytes.subarray(0, length))
    if (isSent) this.#frames.inc()
    else for (let row = 0; row < asks.rows; row++) this.#parts.onUnsent(asks.askId[row] ?? 0, dialer.state !== 'ready')
    asks.clear()
  }

  #onFrame(nodeId: string, lane: number, kind: Kind, body: Uint8Array): void {
    if (kind !== KIND.verdict) return
    const verdicts = this.#verdicts
    decodeVerdictBatch(body, verdicts)
    this.#parts.onShedFrom(lane, verdicts.shedFrom)
    for (let row = 0; row < verdicts.rows; row++) this.#parts.onVerdict(verdicts, row, nodeId)
  }
}
