/**
 * Bench `reservations`: 20 million buyers have reserved in a real Redis; a limiter's SeatKeeper, alone in its process,
 * reads them all. Baseline: a Redis set of 2 million, read by SSCAN into a Set<number>, which is how one would write it
 * first (more of it would take minutes and gigabytes).
 *
 * ```
 *   importMany ──► redis ──log by position──► SeatKeeper, UidSet       in turn with      redis set ──SSCAN──► Set
 * ```
 */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startRedis } from '@bigtap/engines'
import { nullLogger } from '@bigtap/kernel'
import { connectStore, Reservations, type Store } from '@bigtap/store'
import { median } from './percentiles.ts'
import type { ReaderResult, ReaderTask } from './reservations-reader.ts'
import type { BenchResult } from './result.ts'

const UIDS = 20_000_000
const BASELINE_UIDS = 2_000_000
const BATCH = 65_536
const RUNS = 3
const ACTIVITY = 1
const PLAIN_KEY = 'plain'
/** Beyond 2^32, with gaps. */
const NUMBERED = { uidFirst: 10_000_000_000, uidStep: 7 }

/** Runs both, in turn. */
export async function runReservations(): Promise<BenchResult[]> {
  const redis = await startRedis({ appendfsync: 'no' })
  const store = connectStore({ url: redis.url, commandMsMax: 10_000 }, { logger: nullLogger })
  try {
    await store.waitUntilReady(5_000)
    const stored = await fill(store)
    const pairs: Pair[] = []
    const task = { url: redis.url, activityId: ACTIVITY, plainKey: PLAIN_KEY, ...NUMBERED }
    for (let run = 0; run < RUNS; run++) {
      const baseline = await read({ ...task, how: 'set', uids: BASELINE_UIDS })
      pairs.push({ baseline, value: await read({ ...task, how: 'log', uids: UIDS }) })
    }
    return [...stored, ...resultsOf(pairs)]
  } finally {
    await store.close()
    await redis.stop()
  }
}

interface Pair {
  readonly value: ReaderResult
  readonly baseline: ReaderResult
}

function resultsOf(pairs: readonly Pair[]): BenchResult[] {
  const figure = (name: string, unit: string, of: (one: ReaderResult) => number, take = median): BenchResult => {
    const [value, baseline] = [take(pairs.map((pair) => of(pair.value))), take(pairs.map((pair) => of(pair.baseline)))]
    return { name: `reservations: ${name}`, unit, value, baseline, ratio: value / baseline, runs: RUNS }
  }
  return [
    figure('in the process', 'bytes/uid', (one) => one.bytesPerUid),
    figure('20 million loaded in', 's', (one) => (one.loadMs * UIDS) / one.uids / 1_000),
    figure(
      'longest pause of the load',
      'ms',
      (one) => one.pauseMsMax,
      (all) => Math.max(...all),
    ),
    figure('p99 pause of the load', 'ms', (one) => one.pauseMsP99),
    figure('look-ups, found', 'look-ups/s', (one) => one.hitsPerSecond),
    figure('look-ups, not found', 'look-ups/s', (one) => one.missesPerSecond),
  ]
}

/** Bytes of Redis and writes per second: those of importMany, and those of the plain set. */
async function fill(store: Store): Promise<BenchResult[]> {
  const { redis } = store
  const reservations = new Reservations(store)
  const plain = await fillWith(store, BASELINE_UIDS, async (uids) => void (await redis.sadd(PLAIN_KEY, ...uids)))
  const log = await fillWith(store, UIDS, async (uids) => void (await reservations.importMany(ACTIVITY, uids)))
  const figure = (name: string, unit: string, value: number, baseline: number): BenchResult => {
    return { name: `reservations: ${name}`, unit, value, baseline, ratio: value / baseline, runs: 1 }
  }
  return [
    figure('in Redis', 'bytes/uid', log.bytesPerUid, plain.bytesPerUid),
    figure('imported', 'uids/s', log.perSecond, plain.perSecond),
  ]
}

async function fillWith(store: Store, count: number, write: (uids: number[]) => Promise<void>) {
  const before = await usedBytes(store)
  const startedAt = performance.now()
  for (let at = 0; at < count; at += BATCH)
    await write(Array.from({ length: Math.min(BATCH, count - at) }, (_, index) => uidAt(at + index)))
  const perSecond = (count / (performance.now() - startedAt)) * 1_000
  return { perSecond, bytesPerUid: ((await usedBytes(store)) - before) / count }
}

function uidAt(index: number): number {
  return NUMBERED.uidFirst + index * NUMBERED.uidStep
}

async function usedBytes({ redis }: Store): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1])
}

/** A process of its own for each, so that none inherits the other's heap. */
async function read(task: ReaderTask): Promise<ReaderResult> {
  const child = fork(fileURLToPath(new URL('./reservations-reader.js', import.meta.url)), {
    execArgv: ['--expose-gc'],
    stdio: 'inherit',
  })
  const answer = once(child, 'message')
  const exit = once(child, 'exit').then(([code]) => {
    throw new Error(`the reader ended with ${code}`)
  })
  exit.catch(() => undefined) // its end after the answer is as it should be
  child.send(task)
  const [result] = await Promise.race([answer, exit])
  child.disconnect()
  return result as ReaderResult
}
