/**
 * A grant in Middle → visible in `HGET sku:…`, and in a tick. Real: Redis, the Middle node with its ledger, the links, dcacenter
 * and its Redis protocol, ioredis. Made up: the other nodes, which only tell figures; five of them hang. All in one process,
 * so that one clock tells the time. Baseline: the same nodes asked one after the other.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { createDcacenter } from '@bigtap/dcacenter/dcacenter'
import { startRedis } from '@bigtap/engines'
import { decodeStats, KIND } from '@bigtap/protocol'
import { NameLease, Nodes, PushList, type Store } from '@bigtap/store'
import { CallTable, createDialer, type Dialer } from '@bigtap/transport'
import { Redis } from 'ioredis'
import { type AskedNode, BenchNodes, type Buyer, CLUSTER_SECRET, connectNodes, SALE, tools } from './freshness-nodes.ts'
import { percentile } from './percentiles.ts'
import type { BenchResult } from './result.ts'

const EVENTS = 60
/** Grants come at any moment of the interval of pulls, ms. */
const APART_MS = { min: 50, max: 650 }
const LIMITERS = 20
const LIMITER_SKUS = 400
const HANGING = 5
const PULL_MS = 1_000
const ANSWER_MS = 400
const LOOK_EVERY_MS = 5
const SEEN_MS_MAX = 30_000

/** Goal: figures visible <= 2 s p99. */
export async function runFreshness(): Promise<BenchResult[]> {
  const engine = await startRedis({ appendfsync: 'everysec' })
  const store = await connectNodes(engine.url)
  const nodes = new BenchNodes(store)
  try {
    for (let index = 0; index < HANGING; index++) await nodes.add(`hangs-${index}`, 'limiter', undefined)
    const buyer = await nodes.addMiddle('middle-1')
    for (let index = 0; index < LIMITERS; index++) await nodes.addLimiter(`limiter-${index}`, LIMITER_SKUS)
    const baseline = await inTurn(nodes.asked, buyer)
    const { read, tick } = await byDcacenter(store, buyer)
    return [...resultsOf('freshness of HGET', read, baseline), ...resultsOf('freshness of tick', tick, baseline)]
  } finally {
    await nodes.stop()
    await store.close()
    await engine.stop()
  }
}

/** When each grant was made, and when its number was first seen. */
class Sightings {
  readonly #grantedAt: number[] = []
  readonly #base: number
  readonly delays: number[] = []

  constructor(base: number) {
    this.#base = base
  }

  granted(at: number): void {
    this.#grantedAt.push(at)
  }

  /** So many grants are seen by now. */
  seen(granted: number): void {
    const now = performance.now()
    while (this.delays.length < Math.min(granted - this.#base, this.#grantedAt.length))
      this.delays.push(now - (this.#grantedAt[this.delays.length] ?? now))
  }

  get isDone(): boolean {
    return this.delays.length >= EVENTS
  }
}

let lastUid = 0

async function grantAll(buyer: Buyer, all: readonly Sightings[]): Promise<void> {
  for (let event = 0; event < EVENTS; event++) {
    const at = await buyer.buy(++lastUid)
    for (const sightings of all) sightings.granted(at)
    await sleep(APART_MS.min + Math.random() * (APART_MS.max - APART_MS.min))
  }
  const deadline = performance.now() + SEEN_MS_MAX
  while (all.some((sightings) => !sightings.isDone)) {
    if (performance.now() > deadline) throw new Error(`grants were not seen within ${SEEN_MS_MAX} ms`)
    await sleep(LOOK_EVERY_MS)
  }
}

async function byDcacenter(store: Store, buyer: Buyer): Promise<{ read: number[]; tick: number[] }> {
  const center = createDcacenter(
    {
      nodeId: 'dcacenter',
      host: '127.0.0.1',
      port: 0,
      clusterSecret: CLUSTER_SECRET,
      pullMs: PULL_MS,
      password: undefined,
    },
    {
      ...{ ...tools, nodes: new Nodes(store), list: new PushList(store) },
      lease: new NameLease(store, { name: 'dcacenter', owner: 'bench', ttlMs: 1_500 }),
      readFigures: () => ({}),
    },
  )
  await center.puller.follow()
  center.puller.start()
  const timer = setInterval(() => center.ticker.look(), 100)
  const port = await center.server.start()
  const [reader, listener] = [new Redis(port), new Redis(port)]
  try {
    const granted = async () => Number(await reader.hget(`sku:${SALE.activityId}:${SALE.skuId}`, 'granted'))
    while ((await granted()) < lastUid) await sleep(LOOK_EVERY_MS)
    const [read, tick] = [new Sightings(lastUid), new Sightings(lastUid)]
    listener.on('message', (_channel, text) => tick.seen(grantedIn(text)))
    await listener.subscribe('tick')
    const granting = grantAll(buyer, [read, tick])
    while (!read.isDone) {
      read.seen(await granted())
      await sleep(LOOK_EVERY_MS)
    }
    await granting
    return { read: read.delays, tick: tick.delays }
  } finally {
    clearInterval(timer)
    for (const client of [reader, listener]) client.disconnect()
    await Promise.all([center.puller.stop(), center.server.stop()])
  }
}

function grantedIn(text: string): number {
  const { skus } = JSON.parse(text) as { skus: { skuId: number; figures: { granted: number } }[] }
  return skus.find(({ skuId }) => skuId === SALE.skuId)?.figures.granted ?? 0
}

/** One node after the other, each second; a node that hangs takes its 400 ms. */
async function inTurn(asked: readonly AskedNode[], buyer: Buyer): Promise<number[]> {
  const calls = new CallTable({}, tools)
  const dialers = asked.map(({ address }) => dial(address, calls))
  const sightings = new Sightings(lastUid)
  let isOver = false
  const asking = async () => {
    while (!isOver) {
      const startedAt = performance.now()
      for (const dialer of dialers) {
        const body = await calls
          .call(dialer, KIND.statsPull, new Uint8Array(0), { timeoutMs: ANSWER_MS })
          .catch(() => undefined)
        if (body === undefined) continue
        const { role, skus } = decodeStats(body)
        if (role === 'middle') sightings.seen(skus[0]?.figures.granted ?? 0)
      }
      await sleep(Math.max(0, PULL_MS - (performance.now() - startedAt)))
    }
  }
  for (const dialer of dialers) await dialer.ready(2_000)
  const loop = asking()
  await grantAll(buyer, [sightings])
  isOver = true
  await loop
  await Promise.all(dialers.map((dialer) => dialer.stop()))
  return sightings.delays
}

function dial(address: string, calls: CallTable): Dialer {
  const dialer = createDialer(
    { address, nodeId: 'bench', role: 'dcacenter', clusterSecret: CLUSTER_SECRET, drainMs: 20 },
    {
      ...tools,
      onFrame: (link, kind, correlation, body) => void calls.onFrame(link, kind, correlation, body),
      onClose: (link) => calls.onClose(link),
    },
  )
  dialer.start()
  return dialer
}

function resultsOf(name: string, values: readonly number[], baselines: readonly number[]): BenchResult[] {
  return ([50, 99, 100] as const).map((percent) => {
    const [value, baseline] = [percentile(values, percent), percentile(baselines, percent)]
    const what = percent === 100 ? 'max' : `p${percent}`
    return { name: `${name} ${what}`, unit: 'ms', value, baseline, ratio: value / baseline, runs: values.length }
  })
}
