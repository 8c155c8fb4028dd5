/**
 * How well the cluster keeps the pace: three Middle nodes over a real Redis, one of them killed; baseline: one node
 * that nothing happens to. Error of each second, as a share of the pace.
 */

import { Documents } from '@bigtap/catalog'
import { activityKey, DEFAULT_POLICY, SLOTS_KEY, skuKey } from '@bigtap/domain'
import { startRedis } from '@bigtap/engines'
import { nullLogger, nullMetrics, SLOT_COUNT } from '@bigtap/kernel'
import { MiddleNode } from '@bigtap/middle/middle-node'
import { connectStore, GrantLog, Guards, Ledger, type Store } from '@bigtap/store'
import { createKeyRing } from '@bigtap/token'
import { type Desk, PaceCrowd } from './pace-crowd.ts'
import { median } from './percentiles.ts'
import type { BenchResult } from './result.ts'

const PACES = [40, 500, 5_000]
const NODES = ['a', 'b', 'c']
/** The crowd is large enough to use the pace up three times over, also when a third of it has lost its node. */
const CROWD_FACTOR = 3
const WARM_UP_MS = 3_000
const SECONDS = 10
/** In the middle of this second node c dies. */
const KILLED_IN = 5
const SWEEP_MS = 100
/** Percent. */
const RATIO_BASE_MIN = 0.1
/** Nodes of a cluster do not tick together. */
const APART_MS = 17
const LIMITS = { recordsMax: 400_000, pendingMax: 8_192, waitingMax: 16_384, rereadsMax: 64, asksPerFrameMax: 4_096 }

const clock = { now: () => Date.now(), monotonic: () => performance.now() }
const random = { next: () => Math.random(), bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)) }
const tools = { logger: nullLogger, metrics: nullMetrics, clock, random }
const ring = createKeyRing({ current: 'a secret of the pace bench' })

/** Runs both at each pace. */
export async function runPace(): Promise<BenchResult[]> {
  const engine = await startRedis({ appendfsync: 'everysec' })
  const store = connectStore({ url: engine.url, commandMsMax: 5_000 }, { logger: nullLogger })
  try {
    await store.waitUntilReady(5_000)
    const results: BenchResult[] = []
    for (const pace of PACES) {
      const one = await secondsOf(store, engine.url, { pace, nodeIds: ['a'] })
      const three = await secondsOf(store, engine.url, { pace, nodeIds: NODES })
      results.push(...resultsOf(pace, three, one))
    }
    return results
  } finally {
    await store.close()
    await engine.stop()
  }
}

interface Sale {
  readonly pace: number
  readonly nodeIds: readonly string[]
}

function resultsOf(pace: number, three: readonly number[], one: readonly number[]): BenchResult[] {
  const quiet = errorsOf(pace, three).filter((_, second) => second !== KILLED_IN)
  const base = errorsOf(pace, one)
  const result = (name: string, value: number, baseline: number): BenchResult => {
    // Seconds that are exactly right leave nothing to divide by.
    const ratio = value / Math.max(baseline, RATIO_BASE_MIN)
    return { name: `pace ${pace}/s: ${name}`, unit: '% off per second', value, baseline, ratio, runs: SECONDS }
  }
  return [
    { ...result('p50', median(quiet), median(base)), seconds: [...three] },
    result('max', Math.max(...quiet), Math.max(...base)),
    result('second of a loss', errorsOf(pace, three)[KILLED_IN] ?? 0, Math.max(...base)),
  ]
}

/** Grants of each second. */
async function secondsOf(store: Store, url: string, sale: Sale): Promise<number[]> {
  const catalog = await openSale(new Ledger(store), sale)
  const nodes = sale.nodeIds.map((id) => new BenchNode(id, url, catalog))
  const granted = new Array<number>(SECONDS).fill(0)
  let from = Number.POSITIVE_INFINITY
  const onGrant = () => {
    const second = Math.floor((performance.now() - from) / 1_000)
    if (second >= 0 && second < SECONDS) granted[second] = (granted[second] as number) + 1
  }
  for (const node of nodes) await node.start()
  const buyers = Math.max(2_000, sale.pace * CROWD_FACTOR * SECONDS)
  const settings = { buyers, arriveMs: WARM_UP_MS, activityId, skuId: 1 }
  const crowd = new PaceCrowd(settings, (slot) => nodes[slot % nodes.length]?.desk(), onGrant)
  const sweeper = setInterval(() => void new Ledger(store).sweep(activityId, 500), SWEEP_MS)
  crowd.start()
  await sleep(WARM_UP_MS)
  from = performance.now()
  await sleep(KILLED_IN * 1_000 + 500)
  if (nodes.length > 1) nodes.at(-1)?.kill()
  await sleep(from + SECONDS * 1_000 - performance.now())
  clearInterval(sweeper)
  crowd.stop()
  for (const node of nodes) await node.stop()
  return granted
}

/** A node with its own connection to Redis, which can be cut as a death would. */
class BenchNode {
  readonly #node: MiddleNode
  readonly #store: Store
  #isDead = false

  constructor(nodeId: string, url: string, catalog: Documents) {
    this.#store = connectStore({ url, commandMsMax: 1_000 }, { logger: nullLogger })
    const log = new GrantLog(this.#store, new Guards(this.#store))
    this.#node = new MiddleNode({ nodeId, ...LIMITS, queuedPerSecond: 1_000 }, { ...tools, catalog, log, ring })
  }

  desk(): Desk | undefined {
    return this.#isDead ? undefined : this.#node
  }

  async start(): Promise<void> {
    await this.#store.waitUntilReady(5_000)
    this.#node.start()
    await sleep(APART_MS)
  }

  /** Its connection goes first: nothing is given back. */
  kill(): void {
    this.#isDead = true
    this.#store.redis.disconnect()
    this.#node.stop()
  }

  async stop(): Promise<void> {
    if (this.#isDead) return
    this.#node.stop()
    await this.#store.close()
  }
}

let activityId = 0

async function openSale(ledger: Ledger, { pace, nodeIds }: Sale): Promise<Documents> {
  activityId++
  const stock = pace * 60
  const row = { skuId: 1, stock, overbook: 1, limitPerBuyer: 1, priceCents: 100, holdSeconds: 60 }
  await ledger.open(activityId, 'once-per-product', [row])
  const opensAt = Date.now()
  const activity = { id: activityId, title: 'pace', state: 'open', opensAt, closesAt: opensAt + 600_000 }
  const owners = Array.from({ length: SLOT_COUNT }, (_, slot) => slot % nodeIds.length)
  const policy = { ...DEFAULT_POLICY, pacePerSecond: pace }
  const sku = { id: 1, activityId, title: 's', priceCents: 100, currency: 'CNY', imageUrl: '', stock, policy }
  const bodies: [string, unknown][] = [
    [activityKey(activityId), { ...activity, rule: 'once-per-product', skuIds: [1] }],
    [skuKey(activityId, 1), { ...sku, limitPerBuyer: 1, paused: false }],
    [SLOTS_KEY, { epoch: 1, nodes: nodeIds.map((id) => ({ id, address: '127.0.0.1:1' })), owners }],
  ]
  const documents = new Documents()
  for (const [key, body] of bodies)
    if (documents.apply({ key, revision: 1, body }) !== 'applied') throw new Error(`document ${key} was refused`)
  return documents
}

function errorsOf(pace: number, seconds: readonly number[]): number[] {
  return seconds.map((granted) => (Math.abs(granted - pace) / pace) * 100)
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
