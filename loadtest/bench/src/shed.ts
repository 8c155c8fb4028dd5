/**
 * Bench `shed`: a limiter, real and alone in its process, before a stand-in for Middle that answers 1,000 asks a second.
 * First 85 % of that, all from normal buyers; then ten times, 85 % of the capacity from the same buyers and the rest from
 * scripts that are known only by what they do. Baseline of each figure: the calm stage, or the goal.
 *
 * ```
 *   driver (127.0.0.0/8) ──HTTP──► limiter ──TCP──► stand-in, 1,000/s
 *                                    └── /debug/shedding, each 50 ms ──► threshold, let in and shed by tier, ms
 * ```
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { DEFAULT_WAITING, NO_CHALLENGE } from '@bigtap/domain'
import { freePort, startRedis } from '@bigtap/engines'
import { nullLogger } from '@bigtap/kernel'
import type { SheddingView } from '@bigtap/limiter/core/shedding'
import { CatalogStore, connectStore, Ledger } from '@bigtap/store'
import { askChild, startScript, untilReady } from './children.ts'
import type { BenchResult } from './result.ts'
import { ABUSIVE_BEAT_MS, type DriverResult, type DriverStage, NORMAL_BEAT_MS } from './shed-task.ts'

const TOKEN_SECRET = 'bigtap-bench-token-secret'
const CLUSTER_SECRET = 'bigtap-bench-cluster-secret'
const CAPACITY = 1_000
const NORMAL_SHARE = 0.85
const NORMAL = Math.round((CAPACITY * NORMAL_SHARE * NORMAL_BEAT_MS) / 1_000)
const ABUSIVE = Math.round((CAPACITY * (10 - NORMAL_SHARE) * ABUSIVE_BEAT_MS) / 1_000)
const CALM_MS = 5_000
const RUSH_MS = 10_000
/** Figures of the rush begin after the second in which it settles; what is lost in that one is told apart. */
const SETTLE_MS = 1_000
const LOOK_EVERY_MS = 50
const READY_MS_MAX = 15_000
const ACTIVITY = 1
const SKU = 1
const SETTLED_LOOKS = 4
const TIERS = 6

/** Runs it once: what it measures is a machine under load for fifteen seconds. */
export async function runShed(): Promise<BenchResult[]> {
  const children: ChildProcess[] = []
  const redis = await startRedis()
  try {
    const { ops, port, opensAt } = await startPlatform(redis.url, children)
    const driver = startScript('shed-driver', children)
    const who = { activityId: ACTIVITY, skuId: SKU, opensAt, normal: NORMAL, abusive: ABUSIVE }
    await askChild(driver, { secret: TOKEN_SECRET, port, ...who })
    const calm = await runStage(driver, ops, { normal: NORMAL, abusive: 0 }, CALM_MS)
    const rush = await runStage(driver, ops, { normal: NORMAL, abusive: ABUSIVE }, RUSH_MS)
    return resultsOf(calm, rush)
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await redis.stop()
  }
}

interface Look extends SheddingView {
  readonly atMs: number
}

interface Stage {
  readonly looks: readonly Look[]
  /** Of the second in which it settles, and of the rest. */
  readonly first: DriverResult
  readonly rest: DriverResult
  readonly restMs: number
}

async function runStage(driver: ChildProcess, ops: number, stage: DriverStage, ms: number): Promise<Stage> {
  await askChild(driver, 'counts')
  await askChild(driver, stage)
  const startedAt = performance.now()
  const looks: Look[] = []
  const lookUntil = async (untilMs: number) => {
    for (let atMs = 0; atMs < untilMs; ) {
      await sleep(LOOK_EVERY_MS)
      const answer = await fetch(`http://127.0.0.1:${ops}/debug/shedding`)
      atMs = performance.now() - startedAt
      looks.push({ ...((await answer.json()) as SheddingView), atMs })
    }
  }
  await lookUntil(SETTLE_MS)
  const first = (await askChild(driver, 'counts')) as DriverResult
  const firstMs = performance.now() - startedAt
  await lookUntil(ms)
  const rest = (await askChild(driver, 'counts')) as DriverResult
  return { looks, first, rest, restMs: performance.now() - startedAt - firstMs }
}

function resultsOf(calm: Stage, rush: Stage): BenchResult[] {
  const result = (name: string, unit: string, value: number, baseline: number): BenchResult => ({
    ...{ name: `shed ${name}`, unit, value, baseline, ratio: baseline === 0 ? 0 : value / baseline, runs: 1 },
  })
  const offered = ({ rest, restMs }: Stage) => perSecond(rest.normal.asked + rest.abusive.asked, restMs)
  return [
    result('offered', 'requests/s', offered(rush), offered(calm)),
    result('normal on merit, settled', '%', meritShare(rush.rest), meritShare(calm.rest)),
    result('normal on merit, first second', '%', meritShare(rush.first), meritShare(calm.rest)),
    result('goodput', 'answers/s of 1,000', goodput(rush), CAPACITY),
    result('inversions', 'in 50 ms looks', inversions(rush.looks), 0),
    result('settles after', 'ms', settleMs(rush.looks), SETTLE_MS),
    result('let in, p50', 'ms in the server', answeredMs(rush.looks, 0.5), answeredMs(calm.looks, 0.5)),
    result('let in, p99', 'ms in the server', answeredMs(rush.looks, 0.99), answeredMs(calm.looks, 0.99)),
  ]
}

function perSecond(count: number, ms: number): number {
  return (count / ms) * 1_000
}

/** Of the normal buyers' asks, those that were answered on merit, %. */
function meritShare({ normal: { merit, shed, lost } }: DriverResult): number {
  return (merit / Math.max(1, merit + shed + lost)) * 100
}

/** Asks that Middle answered, per second. */
function goodput({ looks }: Stage): number {
  const settled = looks.filter(({ atMs }) => atMs > SETTLE_MS)
  const [from, until] = [settled[0], settled.at(-1)]
  if (from === undefined || until === undefined) return 0
  const answered = sum(until.answeredMs) - sum(from.answeredMs)
  return perSecond(answered, until.atMs - from.atMs)
}

/** Looks in which somebody was let in although somebody of a better tier had been shed in the second before. */
function inversions(looks: readonly Look[]): number {
  const grown = (key: 'shed' | 'letIn', index: number, tier: number) =>
    (looks[index]?.[key][tier] ?? 0) - (looks[index - 1]?.[key][tier] ?? 0)
  const isShedBefore = (index: number, tier: number) => {
    const since = (looks[index - 1]?.atMs ?? 0) - 1_000 + 2 * LOOK_EVERY_MS
    for (let at = index - 1; at > 0 && (looks[at - 1]?.atMs ?? 0) >= since; at--) {
      if (grown('shed', at, tier) > 0) return true
    }
    return false
  }
  return looks.filter((_, index) => {
    if (index === 0) return false
    for (let worse = 1; worse < TIERS; worse++) {
      if (grown('letIn', index, worse) === 0) continue
      for (let better = 0; better < worse; better++) if (isShedBefore(index, better)) return true
    }
    return false
  }).length
}

/** From the step until the worse tiers are let in no faster than the best leave room, and a fifth, over 200 ms. */
function settleMs(looks: readonly Look[]): number {
  const worse = (look: Look | undefined) => sum((look?.letIn ?? []).slice(1))
  const most = CAPACITY * (1.2 - NORMAL_SHARE)
  return (
    looks.findLast((look, index) => {
      const before = looks[index - SETTLED_LOOKS]
      return before !== undefined && perSecond(worse(look) - worse(before), look.atMs - before.atMs) > most
    })?.atMs ?? 0
  )
}

function answeredMs(looks: readonly Look[], share: number): number {
  const [first, last] = [looks.find(({ atMs }) => atMs > SETTLE_MS), looks.at(-1)]
  if (first === undefined || last === undefined) return 0
  const counts = last.answeredMs.map((count, ms) => count - (first.answeredMs[ms] ?? 0))
  let left = sum(counts) * share
  return counts.findIndex((count) => {
    left -= count
    return left <= 0
  })
}

function sum(list: readonly number[]): number {
  return list.reduce((total, one) => total + one, 0)
}

async function startPlatform(redisUrl: string, children: ChildProcess[]) {
  const [middlePort, port, ops, links] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
  const opensAt = await publish(redisUrl, middlePort)
  const middle = startScript('shed-middle', children)
  await askChild(middle, { port: middlePort, clusterSecret: CLUSTER_SECRET, perSecond: CAPACITY })
  const main = fileURLToPath(new URL('../../../services/limiter/dist/main.js', import.meta.url))
  const env = {
    ...{ BIGTAP_DEV: 'on', BIGTAP_REDIS_URL: redisUrl, BIGTAP_TOKEN_SECRET: TOKEN_SECRET, BIGTAP_LOG_LEVEL: 'warn' },
    ...{ BIGTAP_CLUSTER_SECRET: CLUSTER_SECRET, BIGTAP_NODE_ID: 'limiter-1', BIGTAP_PORT: `${port}` },
    ...{ BIGTAP_OPS_PORT: `${ops}`, BIGTAP_LIMITER_LINK_PORT: `${links}`, PATH: process.env.PATH ?? '' },
  }
  children.push(spawn(process.execPath, [main], { env, stdio: ['ignore', 'ignore', 'inherit'] }))
  await untilReady(ops)
  return { port, ops, opensAt }
}

/** One open activity without limits of access: what falls, falls by its grade. */
async function publish(redisUrl: string, middlePort: number): Promise<number> {
  const store = connectStore({ url: redisUrl, commandMsMax: 5_000 }, { logger: nullLogger })
  await store.waitUntilReady(READY_MS_MAX)
  const opensAt = Date.now() - 60_000
  const times = { opensAt, closesAt: opensAt + 3_600_000 }
  const row = { skuId: SKU, stock: 1, overbook: 1, limitPerBuyer: 1, priceCents: 1, holdSeconds: 900 }
  await new Ledger(store).open(ACTIVITY, 'unlimited', [row])
  const nodes = [{ id: 'middle-1', address: `127.0.0.1:${middlePort}` }]
  await new CatalogStore(store).publish([
    { key: 'slots', body: { epoch: 1, nodes, owners: Array.from({ length: 1_024 }, () => 0) } },
    {
      key: `sku:${ACTIVITY}:${SKU}`,
      body: { id: SKU, activityId: ACTIVITY, title: 'Bench', priceCents: 1, currency: 'EUR', stock: 1 },
    },
    {
      key: `activity:${ACTIVITY}`,
      body: {
        ...{ id: ACTIVITY, title: 'Bench', state: 'open', ...times, rule: 'unlimited', admission: 'direct' },
        ...{ waiting: DEFAULT_WAITING, challenge: NO_CHALLENGE, skuIds: [SKU], accessLimits: [] },
        reservation: { required: false, ...times },
      },
    },
  ])
  await store.close()
  return opensAt
}
