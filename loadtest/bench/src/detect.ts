/**
 * Abuse → refused at every limiter: the log, antiblack, the board, the routers. Real processes, the platform of `npm start`.
 * Baseline: the same platform without routers, whose limiters read the board each half second.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { DEFAULT_ABUSE_RULES } from '@bigtap/domain'
import { type Dispatcher, Pool } from 'undici'
import { percentile } from './percentiles.ts'
import type { BenchResult } from './result.ts'
import { type BenchSale, type BenchShop, pathOf, withShop } from './shop.ts'

const SUBJECTS = 100
/** At a time, so that subjects meet the log's and the judge's turns at any moment. */
const PARALLEL = 5
const LOOK_EVERY_MS = 10
/** A script's beat, ms: well below what any person does. */
const BEAT_MS = 100
const SEEN_MS_MAX = 20_000
const HONEYPOT = '/.env'

interface Times {
  /** One request that only a script makes → refused everywhere. */
  readonly honeypot: number[]
  /** A buyer who asks ten times a second: from the first ask, and from the ask that the rule needs. */
  readonly script: number[]
  readonly earned: number[]
}

/** Goals: p95 <= 2 s, p99 <= 5 s after the request that earned the verdict. */
export async function runDetect(): Promise<BenchResult[]> {
  const baseline = await withShop(0, measure)
  const value = await withShop(2, measure)
  const names = { honeypot: 'a trap', script: 'the first ask', earned: 'the ask that earned it' }
  return (['honeypot', 'earned', 'script'] as const).flatMap((what) =>
    ([50, 95, 99] as const).map((percent) => {
      const [ours, theirs] = [percentile(value[what], percent), percentile(baseline[what], percent)]
      const name = `detect ${names[what]} p${percent}`
      return { name, unit: 'ms to all limiters', value: ours, baseline: theirs, ratio: ours / theirs, runs: SUBJECTS }
    }),
  )
}

async function measure(shop: BenchShop): Promise<Times> {
  const sale = await shop.openSale(1, SUBJECTS * 4)
  const times: Times = { honeypot: [], script: [], earned: [] }
  const subjects = Array.from({ length: SUBJECTS }, (_, index) => index).values()
  const worker = async () => {
    for (const index of subjects) {
      await sleep(Math.random() * 200)
      await withSubject(shop, sale, 10_000 + index, (subject) => onTrap(subject, times))
      await withSubject(shop, sale, 20_000 + index, (subject) => onScript(subject, times))
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, worker))
  return times
}

/** A buyer with an address of its own and a hidden path, connected to every limiter. */
interface Subject {
  readonly limiters: readonly Pool[]
  ask(limiter: Pool, path?: string): Promise<number>
}

async function withSubject(
  shop: BenchShop,
  sale: BenchSale,
  uid: number,
  work: (subject: Subject) => Promise<void>,
): Promise<void> {
  const session = await shop.signIn(uid)
  const headers = { authorization: `Bearer ${session}`, 'x-device': `device-of-${uid}` }
  const localAddress = `127.${16 + (uid % 64)}.${Math.floor(uid / 250) % 250}.${1 + (uid % 250)}`
  const limiters = shop.platform.ports.limiters.map(
    (port) => new Pool(`http://127.0.0.1:${port}`, { connections: 2, localAddress }),
  )
  const call = async (limiter: Pool, path: string): Promise<{ status: number; path: string | undefined }> => {
    const options: Dispatcher.RequestOptions = { method: 'GET', path, headers }
    const { statusCode, body } = await limiter.request(options)
    const answer = (await body.json().catch(() => ({}))) as { path?: string }
    return { status: statusCode, path: answer.path }
  }
  try {
    const [first] = limiters
    const bought = first && (await call(first, pathOf(sale, sale.skuIds[0] ?? 0))).path
    if (bought === undefined) throw new Error('the limiter gives no path')
    await work({ limiters, ask: async (limiter, path = bought) => (await call(limiter, path)).status })
  } finally {
    await Promise.all(limiters.map((limiter) => limiter.destroy()))
  }
}

async function onTrap(subject: Subject, times: Times): Promise<void> {
  const [first] = subject.limiters
  if (first === undefined) return
  const startedAt = performance.now()
  await subject.ask(first, HONEYPOT)
  await untilRefused(subject, startedAt, LOOK_EVERY_MS * 10)
  times.honeypot.push(performance.now() - startedAt)
}

async function onScript(subject: Subject, times: Times): Promise<void> {
  const [first] = subject.limiters
  if (first === undefined) return
  const needed = 1 + (DEFAULT_ABUSE_RULES.rules.find(({ name }) => name === 'machine-pace')?.threshold ?? 0)
  const startedAt = performance.now()
  let earnedAt = startedAt
  for (let asks = 0; asks < needed; asks++) {
    earnedAt = performance.now()
    if ((await subject.ask(first)) === 403) break
    await sleep(Math.max(0, BEAT_MS - (performance.now() - earnedAt)))
  }
  await untilRefused(subject, startedAt, LOOK_EVERY_MS)
  times.script.push(performance.now() - startedAt)
  times.earned.push(performance.now() - earnedAt)
}

/** Asks each limiter until it refuses; the last one ends it. */
async function untilRefused(subject: Subject, since: number, everyMs: number): Promise<void> {
  await Promise.all(
    subject.limiters.map(async (limiter) => {
      while ((await subject.ask(limiter)) !== 403) {
        if (performance.now() - since > SEEN_MS_MAX) throw new Error(`not refused within ${SEEN_MS_MAX} ms`)
        await sleep(everyMs)
      }
    }),
  )
}
