/** The nodes of the freshness benchmark: one real Middle node with a sale, and others that only tell figures, or hang. */

import { Documents } from '@bigtap/catalog'
import { activityKey, DEFAULT_POLICY, SLOTS_KEY, skuKey, VERDICT } from '@bigtap/domain'
import { nullLogger, nullMetrics, SLOT_COUNT } from '@bigtap/kernel'
import { MiddleNode } from '@bigtap/middle/middle-node'
import { middleStats } from '@bigtap/middle/stats'
import {
  AskColumns,
  askBatchBytesMax,
  decodeVerdictBatch,
  encodeAskBatch,
  KIND,
  type Stats,
  VerdictColumns,
} from '@bigtap/protocol'
import { connectStore, GrantLog, Guards, Ledger, Nodes, type Store } from '@bigtap/store'
import { createKeyRing } from '@bigtap/token'
import { createServer, createStatsResponder, type Link, type Server } from '@bigtap/transport'

/** The secret of the links. */
export const CLUSTER_SECRET = 'a cluster secret of the bench'
/** The sale's activity and SKU. */
export const SALE = { activityId: 1, skuId: 1, stock: 1_000 } as const

const clock = { now: () => Date.now(), monotonic: () => performance.now() }
const random = { next: () => Math.random(), bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)) }
/** What every part works with. */
export const tools = { logger: nullLogger, metrics: nullMetrics, clock, random }

const LIMITS = { recordsMax: 10_000, pendingMax: 1_024, waitingMax: 1_024, rereadsMax: 64, asksPerFrameMax: 64 }
const BEAT_MS = 300
const PROCESS = { cpu: 0.1, rss: 1e8, eventLoopMs: 1 }

/** A node that can be asked for its figures. */
export interface AskedNode {
  readonly id: string
  readonly address: string
}

/** Nodes with their links, heartbeats and the means to end them. */
export class BenchNodes {
  readonly asked: AskedNode[] = []
  readonly #store: Store
  readonly #servers: Server[] = []
  readonly #timers: NodeJS.Timeout[] = []
  readonly #nodes: MiddleNode[] = []

  constructor(store: Store) {
    this.#store = store
  }

  /** A node over a real link and in the list of nodes; one without `read` takes questions and never answers. */
  async add(id: string, role: string, read: (() => Stats) | undefined): Promise<void> {
    const answer = read && createStatsResponder(read, tools)
    const server = createServer(
      { host: '127.0.0.1', port: 0, nodeId: id, role, clusterSecret: CLUSTER_SECRET, drainMs: 20 },
      { ...tools, onFrame: (link, kind, correlation) => void answer?.(link, kind, correlation) },
    )
    const { port } = await server.start()
    this.#servers.push(server)
    const statsAddress = `127.0.0.1:${port}`
    this.asked.push({ id, address: statsAddress })
    const nodes = new Nodes(this.#store)
    const info = {
      id,
      role,
      state: 'ready',
      address: statsAddress,
      statsAddress,
      revision: 1,
      digest: '',
      at: 0,
    } as const
    const beat = () => void nodes.heartbeat(info).catch(() => undefined)
    beat()
    this.#timers.push(setInterval(beat, BEAT_MS))
  }

  /** A limiter as it would be in the middle of a sale of `skus` SKUs. */
  addLimiter(id: string, skus: number): Promise<void> {
    let pulls = 0
    return this.add(id, 'limiter', () => {
      const asks = ++pulls * 1_000
      const sku = { activityId: SALE.activityId, state: '', figures: { asks, shed: 3 } }
      return {
        ...{ nodeId: id, role: 'limiter', at: Date.now(), labels: { digest: 'abc' } },
        figures: { ...PROCESS, connections: 1_000, queueDepth: 10, asks: asks * skus },
        skus: Array.from({ length: skus }, (_, index) => ({ ...sku, skuId: index + 1 })),
      }
    })
  }

  /** A real Middle node with a real ledger; gives the buyer that its crowd consists of. */
  async addMiddle(id: string): Promise<Buyer> {
    await new Ledger(this.#store).open(SALE.activityId, 'once-per-product', [
      { ...SALE, overbook: 1, limitPerBuyer: 1, priceCents: 100, holdSeconds: 600 },
    ])
    const node = new MiddleNode(
      { nodeId: id, ...LIMITS },
      {
        ...{ ...tools, catalog: documents(id), log: new GrantLog(this.#store, new Guards(this.#store)) },
        ring: createKeyRing({ current: 'a secret of the freshness bench' }),
      },
    )
    this.#nodes.push(node)
    node.start()
    const catalog = { revision: 1, digest: 'abc', refused: [] }
    await this.add(id, 'middle', () =>
      middleStats(node, { nodeId: id, now: Date.now(), links: 1, catalog, process: PROCESS }),
    )
    return new Buyer(node)
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    for (const node of this.#nodes) node.stop()
    await Promise.all(this.#servers.map((server) => server.stop()))
  }
}

/** Asks a Middle node as a limiter would: bytes as on the wire, but no socket. */
export class Buyer {
  readonly #node: MiddleNode
  readonly #asks = new AskColumns(1)
  readonly #bytes = new Uint8Array(askBatchBytesMax(1))
  readonly #verdicts = new VerdictColumns(4)
  readonly #link: Link
  #onVerdict: (code: number) => void = () => undefined

  constructor(node: MiddleNode) {
    this.#node = node
    const peer = { nodeId: 'crowd', role: 'limiter', remote: 'here', state: 'ready', clockOffsetMs: 0 } as const
    const send: Link['send'] = (_kind, _correlation, body) => {
      this.#verdicts.clear()
      decodeVerdictBatch(body, this.#verdicts)
      this.#onVerdict(this.#verdicts.code[0] as number)
      return true
    }
    this.#link = { ...peer, unsentBytes: 0, roundTripMs: 0, send, close: () => undefined }
  }

  /** Asks until there is a grant, and gives the moment of it. */
  async buy(uid: number): Promise<number> {
    for (;;) {
      const code = await this.#ask(uid)
      if (code === VERDICT.granted) return performance.now()
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  #ask(uid: number): Promise<number> {
    return new Promise((resolve) => {
      this.#onVerdict = resolve
      this.#asks.clear()
      this.#asks.budgetMs = 500
      this.#asks.push(uid, uid, SALE.activityId, SALE.skuId, 1)
      const end = encodeAskBatch(this.#asks, this.#bytes)
      this.#node.onFrame(this.#link, KIND.ask, this.#bytes.subarray(0, end))
    })
  }
}

/** A connection of its own for the nodes. */
export async function connectNodes(url: string): Promise<Store> {
  const store = connectStore({ url, commandMsMax: 5_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
  return store
}

function documents(nodeId: string): Documents {
  const { activityId: id, skuId, stock } = SALE
  const all = new Documents()
  const times = { opensAt: Date.now() - 1_000, closesAt: Date.now() + 3_600_000 }
  const money = { title: 's', priceCents: 100, currency: 'CNY', imageUrl: '' }
  const bodies: [string, unknown][] = [
    [activityKey(id), { id, title: 'a', state: 'open', ...times, rule: 'once-per-product', skuIds: [skuId] }],
    [
      skuKey(id, skuId),
      { id: skuId, activityId: id, ...money, stock, limitPerBuyer: 1, policy: DEFAULT_POLICY, paused: false },
    ],
    [SLOTS_KEY, { epoch: 1, nodes: [{ id: nodeId, address: '127.0.0.1:1' }], owners: new Array(SLOT_COUNT).fill(0) }],
  ]
  for (const [key, body] of bodies) all.apply({ key, revision: 1, body })
  return all
}
