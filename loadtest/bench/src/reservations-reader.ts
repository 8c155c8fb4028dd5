/** The reader of bench `reservations`, a process: loads all uids one way or the other, then looks many of them up. */

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Documents } from '@bigtap/catalog'
import { activityKey } from '@bigtap/domain'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import { SeatKeeper } from '@bigtap/limiter/seats'
import { connectStore, Reservations, type Store } from '@bigtap/store'

/** What to read. */
export interface ReaderTask {
  readonly how: 'log' | 'set'
  readonly url: string
  readonly uids: number
  readonly activityId: number
  readonly plainKey: string
  /** The uids are uidFirst, uidFirst + uidStep, … */
  readonly uidFirst: number
  readonly uidStep: number
}

/** What was measured. Bytes: growth of the resident set; pauses: delays of a timer of 1 ms. */
export interface ReaderResult {
  readonly uids: number
  readonly bytesPerUid: number
  readonly loadMs: number
  readonly cpuMs: number
  readonly pauseMsMax: number
  readonly pauseMsP99: number
  readonly hitsPerSecond: number
  readonly missesPerSecond: number
}

type Has = (uid: number) => boolean | undefined

const LOOK_UPS = 5_000_000
const SCAN_COUNT = 5_000
/** The limiter's own; it goes on after a timeout, which a plain scan cannot. */
const COMMAND_MS_MAX = { log: 100, set: 10_000 }
/** What a busy process would have had anyway. */
const SETTLE_MS = 500

process.on('disconnect', () => process.exit(0))
process.on('message', (task: ReaderTask) => void measure(task).then((result) => process.send?.(result)))

async function measure(task: ReaderTask): Promise<ReaderResult> {
  const store = connectStore({ url: task.url, commandMsMax: COMMAND_MS_MAX[task.how] }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
  await sleep(SETTLE_MS)
  const uidAt = (n: number) => task.uidFirst + (n % task.uids) * task.uidStep
  const before = residentBytes()
  const pauses = monitorEventLoopDelay({ resolution: 1 })
  pauses.enable()
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  const has = await (task.how === 'log' ? loadLog(store, task) : loadSet(store, task))
  const loadMs = performance.now() - startedAt
  const { user, system } = process.cpuUsage(cpu)
  pauses.disable()
  return {
    uids: task.uids,
    loadMs,
    cpuMs: (user + system) / 1_000,
    pauseMsMax: pauses.max / 1e6,
    pauseMsP99: pauses.percentile(99) / 1e6,
    bytesPerUid: (residentBytes() - before) / task.uids,
    hitsPerSecond: lookUps(has, (n) => uidAt(n), true),
    missesPerSecond: lookUps(has, (n) => uidAt(n) + 1, false),
  }
}

async function loadLog(store: Store, { activityId, uids }: ReaderTask): Promise<Has> {
  const catalog = new Documents()
  const closesAt = Date.now() + 3_600_000
  const activity = { id: activityId, title: 'bench', state: 'scheduled', opensAt: 1, closesAt, rule: 'unlimited' }
  const body = { ...activity, skuIds: [1], reservation: { required: true, opensAt: 1, closesAt } }
  if (catalog.apply({ key: activityKey(activityId), revision: 1, body }) !== 'applied') throw new Error('no activity')
  const parts = { catalog, logger: nullLogger, metrics: nullMetrics }
  const keeper = new SeatKeeper({ ...parts, store: new Reservations(store) })
  keeper.start()
  while (keeper.hasSeat(activityId, 1) !== false) await sleep(5)
  if (keeper.countOf(activityId) !== uids) throw new Error(`${keeper.countOf(activityId)} seats instead of ${uids}`)
  return (uid) => keeper.hasSeat(activityId, uid)
}

async function loadSet({ redis }: Store, { plainKey }: ReaderTask): Promise<Has> {
  const known = new Set<number>()
  for (let cursor = '', page: string[] = []; cursor !== '0'; ) {
    ;[cursor, page] = await redis.sscan(plainKey, cursor || '0', 'COUNT', SCAN_COUNT)
    for (const uid of page) known.add(Number(uid))
  }
  return (uid) => known.has(uid)
}

/** Per second, in an order that no cache likes. */
function lookUps(has: Has, uidOf: (n: number) => number, isWanted: boolean): number {
  const startedAt = performance.now()
  for (let n = 0; n < LOOK_UPS; n++)
    if (has(uidOf(Math.imul(n, 0x9e3779b1) >>> 0)) !== isWanted) throw new Error('a look-up is wrong')
  return (LOOK_UPS / (performance.now() - startedAt)) * 1_000
}

function residentBytes(): number {
  ;(globalThis as { gc?: () => void }).gc?.()
  return process.memoryUsage().rss
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
