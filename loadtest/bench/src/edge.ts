/**
 * Bench `edge`: a buy that is answered sold-out, and a full decision through a real Middle with every stage on (gate,
 * session, ticket, access limits, reservation, queue, merge), each beside a bare uWebSockets.js handler that sends the
 * same reply to the same requests. Two figures each: requests per second, and per CPU-second of the HTTP process, so that
 * the load generator, Middle and Redis on the same cores do not blur it.
 *
 * ```
 *   driver ──HTTP──► limiter ──TCP──► middle ──► redis        in turn with        driver ──HTTP──► bare handler
 * ```
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { DEFAULT_WAITING, NO_CHALLENGE } from '@bigtap/domain'
import { freePort, startRedis } from '@bigtap/engines'
import { nullLogger } from '@bigtap/kernel'
import { CatalogStore, connectStore, Ledger, Reservations } from '@bigtap/store'
import { askChild, startScript, untilReady } from './children.ts'
import type { BareReply } from './edge-bare.ts'
import type { DriverResult, DriverRound } from './edge-driver.ts'
import { median } from './percentiles.ts'
import type { BenchResult } from './result.ts'

const SECRET = 'bigtap-bench-token-secret'
const ROUNDS = 5
const ROUND_MS = 1_500
/** A sale has thousands; 256 keep every turn of the event loop filled. */
const CONNECTIONS = 256
const BUYERS = 10_000
const PAGE = 500
const READY_MS_MAX = 15_000
const ACTIVITY = 1
const OPENS_AT = Date.now() - 60_000
const SOLD_OUT_SKU = 1
const OPEN_SKU = 2
/** All but the first are told `queued`: at the peak nearly every decision is. A grant also waits for Redis, which is not the edge. */
const STOCK = 1

/** Runs both comparisons. */
export async function runEdge(): Promise<BenchResult[]> {
  const children: ChildProcess[] = []
  const redis = await startRedis()
  try {
    const limiter = await startPlatform(redis.url, children)
    const soldOut = await compare('sold-out', SOLD_OUT_SKU, 410, limiter, children)
    return [...soldOut, ...(await compare('decision', OPEN_SKU, 202, limiter, children))]
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await redis.stop()
  }
}

interface Target {
  readonly port: number
  /** CPU microseconds that the process has used. */
  cpu(): Promise<number>
}

async function compare(
  name: string,
  skuId: number,
  status: number,
  limiter: Target,
  children: ChildProcess[],
): Promise<BenchResult[]> {
  const driver = startScript('edge-driver', children)
  await askChild(driver, { secret: SECRET, buyers: BUYERS, activityId: ACTIVITY, skuId, opensAt: OPENS_AT })
  const bare = await startBare(await replyOf(limiter, skuId, driver, status), children)
  const round = (target: Target) => measure(driver, target, status)
  // Every buyer is seen once before the clock runs: grants are written, code is compiled.
  for (const target of [bare, limiter, bare, limiter]) await round(target)
  const pairs: { value: Rates; baseline: Rates }[] = []
  for (let run = 0; run < ROUNDS; run++) pairs.push({ baseline: await round(bare), value: await round(limiter) })
  const figure = (unit: string, read: (rates: Rates) => number): BenchResult => {
    const value = median(pairs.map((pair) => read(pair.value)))
    const baseline = median(pairs.map((pair) => read(pair.baseline)))
    return { name: `edge ${name}`, unit, value, baseline, ratio: value / baseline, runs: ROUNDS }
  }
  for (const child of [driver, ...children.slice(-1)]) child.disconnect()
  return [figure('requests/s', (rates) => rates.perSecond), figure('requests/CPU-s', (rates) => rates.perCpuSecond)]
}

interface Rates {
  readonly perSecond: number
  readonly perCpuSecond: number
}

async function measure(driver: ChildProcess, target: Target, status: number): Promise<Rates> {
  const before = await target.cpu()
  const round: DriverRound = { port: target.port, connections: CONNECTIONS, ms: ROUND_MS, status }
  const { answers, others, ms } = (await askChild(driver, round)) as DriverResult
  const cpuSeconds = ((await target.cpu()) - before) / 1e6
  if (others > answers * 0.05) throw new Error(`${others} of ${answers + others} answers are not ${status}`)
  return { perSecond: (answers / ms) * 1000, perCpuSecond: answers / cpuSeconds }
}

/** The limiter's own reply, so that the bare handler sends the same bytes. */
async function replyOf({ port }: Target, skuId: number, driver: ChildProcess, status: number): Promise<BareReply> {
  // One short round makes the first buyer known; then its reply is read as a buyer would.
  await askChild(driver, { port, connections: 1, ms: 200, status })
  const { createKeyRing, issueSession, issueTicket } = await import('@bigtap/token')
  const ring = createKeyRing({ current: SECRET })
  const uid = 2
  const times = { notBefore: OPENS_AT, expiresAt: Date.now() + 60_000 }
  const ticket = issueTicket(ring, { uid, activityId: ACTIVITY, skuId, ...times })
  const session = issueSession(ring, { uid, expiresAt: times.expiresAt })
  const headers = { authorization: `Bearer ${session}` }
  const response = await fetch(`http://127.0.0.1:${port}/v1/buy/${ticket}`, { headers })
  const body = await response.text()
  if (response.status !== status) throw new Error(`the limiter answers ${response.status}: ${body}`)
  const headersOf = ['retry-after', 'cache-control'].filter((name) => response.headers.has(name))
  const more = headersOf.map((name) => `\r\n${name}: ${response.headers.get(name)}`).join('')
  return {
    status: `${status} ${response.statusText}`,
    contentType: `${response.headers.get('content-type')}${more}`,
    body,
  }
}

async function startBare(reply: BareReply, children: ChildProcess[]): Promise<Target> {
  const child = startScript('edge-bare', children)
  const port = (await askChild(child, reply)) as number
  return {
    port,
    cpu: async () => {
      const { user, system } = (await askChild(child, 'cpu')) as NodeJS.CpuUsage
      return user + system
    },
  }
}

async function startPlatform(redisUrl: string, children: ChildProcess[]): Promise<Target> {
  const [middlePort, middleOps, port, ops] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
  await publish(redisUrl, middlePort)
  const common = {
    BIGTAP_DEV: 'on',
    BIGTAP_REDIS_URL: redisUrl,
    BIGTAP_TOKEN_SECRET: SECRET,
    BIGTAP_LOG_LEVEL: 'warn',
    PATH: process.env.PATH ?? '',
  }
  const service = (name: string, env: Record<string, string>) => {
    const main = fileURLToPath(new URL(`../../../services/${name}/dist/main.js`, import.meta.url))
    const child = spawn(process.execPath, [main], {
      env: { ...common, ...env },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    children.push(child)
  }
  service('middle', { BIGTAP_NODE_ID: 'middle-1', BIGTAP_PORT: `${middlePort}`, BIGTAP_OPS_PORT: `${middleOps}` })
  service('limiter', { BIGTAP_NODE_ID: 'limiter-1', BIGTAP_PORT: `${port}`, BIGTAP_OPS_PORT: `${ops}` })
  await Promise.all([untilReady(middleOps), untilReady(ops)])
  return {
    port,
    cpu: async () => {
      const answer = await fetch(`http://127.0.0.1:${ops}/debug/cpu`)
      const { user, system } = (await answer.json()) as NodeJS.CpuUsage
      return user + system
    },
  }
}

/** One open activity: every stage has work, and nobody is refused by it. */
async function publish(redisUrl: string, middlePort: number): Promise<void> {
  const store = connectStore({ url: redisUrl, commandMsMax: 5_000 }, { logger: nullLogger })
  await store.waitUntilReady(READY_MS_MAX)
  const opensAt = OPENS_AT
  const closesAt = Date.now() + 3_600_000
  const limit = { algorithm: 'token-bucket', seconds: 1, maxCount: 1_000_000_000 }
  const activity = {
    ...{
      id: ACTIVITY,
      title: 'Bench',
      state: 'open',
      opensAt,
      closesAt,
      rule: 'unlimited',
      admission: 'direct',
      waiting: DEFAULT_WAITING,
      challenge: NO_CHALLENGE,
    },
    reservation: { required: true, opensAt, closesAt },
    skuIds: [SOLD_OUT_SKU, OPEN_SKU],
    accessLimits: [
      { ...limit, scope: 'uid' },
      { ...limit, scope: 'ip' },
    ],
  }
  const sku = (id: number) => ({
    id,
    activityId: ACTIVITY,
    title: 'Bench',
    priceCents: 1,
    currency: 'EUR',
    stock: STOCK,
  })
  const policy = { tokenSeconds: 3_600 }
  const figures = { free: 0, held: 0, sold: STOCK, at: Date.now() }
  const row = { stock: STOCK, overbook: 1, limitPerBuyer: 1_000, priceCents: 1, holdSeconds: 900 }
  await new Ledger(store).open(ACTIVITY, 'unlimited', [
    { ...row, skuId: SOLD_OUT_SKU },
    { ...row, skuId: OPEN_SKU },
  ])
  const reservations = new Reservations(store)
  for (let uid = 1; uid <= BUYERS; uid += PAGE) {
    await Promise.all(Array.from({ length: PAGE }, (_, index) => reservations.reserve(ACTIVITY, uid + index)))
  }
  const nodes = [{ id: 'middle-1', address: `127.0.0.1:${middlePort}` }]
  await new CatalogStore(store).publish([
    { key: 'slots', body: { epoch: 1, nodes, owners: Array.from({ length: 1_024 }, () => 0) } },
    { key: `sku:${ACTIVITY}:${SOLD_OUT_SKU}`, body: { ...sku(SOLD_OUT_SKU), policy } },
    { key: `sku:${ACTIVITY}:${OPEN_SKU}`, body: { ...sku(OPEN_SKU), policy } },
    {
      key: `status:${ACTIVITY}:${SOLD_OUT_SKU}`,
      body: { activityId: ACTIVITY, skuId: SOLD_OUT_SKU, soldOut: true, exhausted: true, ...figures },
    },
    { key: `activity:${ACTIVITY}`, body: activity },
  ])
  await store.close()
}
