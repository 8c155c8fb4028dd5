/**
 * Abuse → refused at every limiter: the log, antiblack, the board, the routers. Real processes, the platform of `npm start`.
 * Baseline: the same platform without routers, whose limiters read the board each half second.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { OPS_OFFSET } from '@bigtap/local/topology'
import { type Dispatcher, Pool } from 'undici'
import { percentile } from './percentiles.ts'
import type { BenchResult } from './result.ts'
import { type BenchSale, type BenchShop, pathOf, withShop } from './shop.ts'

const SUBJECTS = 100
/** At a time, so that subjects meet the log's and the judge's turns at any moment. */
const PARALLEL = 5
/** How often it is looked, ms: seldom, where looking often would be abuse in itself; times are that much too long at most. */
const LOOK_EVERY_MS = { trap: 100, script: 10 }
/** A script's beat, ms: well below what any person does. */
const BEAT_MS = 100
const SEEN_MS_MAX = 20_000
const HONEYPOT = '/.env'

interface Times {
  /** One request that only a script makes → refused everywhere. */
  readonly trap: number[]
  /** The first ask of a buyer who asks ten times a second → held back everywhere. */
  readonly script: number[]
  /** A second forged ticket → the next ask is graded worse where it was sent. */
  readonly node: number[]
}

/** Goals: p95 <= 2 s, p99 <= 5 s after the request that earned the verdict; on the node <= 200 ms. */
export async function runDetect(): Promise<BenchResult[]> {
  const baseline = await withShop(0, measure)
  const value = await withShop(2, measure)
  const names = { trap: 'trap, everywhere', script: 'script, everywhere', node: 'on the node' }
  return (['trap', 'script', 'node'] as const).flatMap((what) =>
    ([50, 95, 99] as const).map((percent) => {
      const [ours, theirs] = [percentile(value[what], percent), percentile(baseline[what], percent)]
      const name = `detect ${names[what]} p${percent}`
      return { name, unit: 'ms', value: ours, baseline: theirs, ratio: ours / theirs, runs: SUBJECTS }
    }),
  )
}

async function measure(shop: BenchShop): Promise<Times> {
  const sale = await shop.openSale(1, SUBJECTS * 4)
  const times: Times = { trap: [], script: [], node: [] }
  const subjects = Array.from({ length: SUBJECTS }, (_, index) => index).values()
  const before = await gradedWorse(shop)
  const worker = async () => {
    for (const index of subjects) {
      await sleep(Math.random() * 200)
      await withSubject(shop, sale, 30_000 + index, (subject) => onNode(subject, times))
      await withSubject(shop, sale, 10_000 + index, (subject) => onTrap(subject, times))
      await withSubject(shop, sale, 20_000 + index, (subject) => onScript(subject, times))
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, worker))
  const worse = (await gradedWorse(shop)) - before
  if (worse < SUBJECTS) throw new Error(`only ${worse} asks of ${SUBJECTS} forgers were graded worse`)
  return times
}

/** Asks of tier 2 and worse that the limiters have let in. */
async function gradedWorse({ platform }: BenchShop): Promise<number> {
  const texts = platform.ports.limiters.map(async (port) => {
    const answer = await fetch(`http://127.0.0.1:${port + OPS_OFFSET}/metrics`)
    return answer.text()
  })
  const found = (await Promise.all(texts)).flatMap((text) => [
    ...text.matchAll(/^bigtap_limiter_let_in_total\{[^}]*tier="[2-5]"[^}]*\} (\d+)/gm),
  ])
  return found.reduce((sum, [, count]) => sum + Number(count), 0)
}

/** A buyer with an address of its own and a hidden path, connected to every limiter. */
interface Subject {
  readonly limiters: readonly Pool[]
  readonly first: Pool
  readonly path: string
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
    const given = first && (await call(first, pathOf(sale, sale.skuIds[0] ?? 0))).path
    if (first === undefined || given === undefined) throw new Error('the limiter gives no path')
    const ask = async (limiter: Pool, path = given) => (await call(limiter, path)).status
    await work({ limiters, first, path: given, ask })
  } finally {
    await Promise.all(limiters.map((limiter) => limiter.destroy()))
  }
}

async function onNode(subject: Subject, times: Times): Promise<void> {
  const { first, path } = subject
  const forged = `${path.slice(0, -1)}${path.endsWith('A') ? 'B' : 'A'}`
  await subject.ask(first, forged)
  const startedAt = performance.now()
  await subject.ask(first, forged)
  await subject.ask(first)
  times.node.push(performance.now() - startedAt)
}

async function onTrap(subject: Subject, times: Times): Promise<void> {
  const startedAt = performance.now()
  await subject.ask(subject.first, HONEYPOT)
  await sleep(Math.random() * LOOK_EVERY_MS.trap)
  await untilRefused(subject, startedAt, LOOK_EVERY_MS.trap)
  times.trap.push(performance.now() - startedAt)
}

async function onScript(subject: Subject, times: Times): Promise<void> {
  const startedAt = performance.now()
  for (let askedAt = startedAt; !isRefused(await subject.ask(subject.first)); askedAt = performance.now()) {
    if (askedAt - startedAt > SEEN_MS_MAX) throw new Error(`not refused within ${SEEN_MS_MAX} ms`)
    await sleep(Math.max(0, BEAT_MS - (performance.now() - askedAt)))
  }
  await untilRefused(subject, startedAt, LOOK_EVERY_MS.script)
  times.script.push(performance.now() - startedAt)
}

/** Blocked, or held back to a person's pace. */
function isRefused(status: number): boolean {
  return status === 403 || status === 429
}

/** Asks each limiter until it refuses; the last one ends it. */
async function untilRefused(subject: Subject, since: number, everyMs: number): Promise<void> {
  await Promise.all(
    subject.limiters.map(async (limiter) => {
      while (!isRefused(await subject.ask(limiter))) {
        if (performance.now() - since > SEEN_MS_MAX) throw new Error(`not refused within ${SEEN_MS_MAX} ms`)
        await sleep(everyMs)
      }
    }),
  )
}
