/**
 * The owner of a buyer's slot is lost → a buyer of its slots is granted by the new owner. Real processes, the platform of
 * `npm start`: two Middle nodes, and a third that nobody starts again. It is killed (kill -9), stands still (SIGSTOP) or
 * leaves (SIGTERM); the baseline is the same loss healed by starting the node again at once. Every token is asked for again
 * at the end: a second token for one buyer fails the bench.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { type FailoverRig, startRig, until } from './failover-rig.ts'
import { median } from './percentiles.ts'
import type { BenchResult } from './result.ts'

const RUNS = 5
const ASK_EVERY_MS = 10
/** Buyers ask for this long from the loss on. */
const WINDOW_MS = 3_500
/** A node that stood still goes on after this long, with everything that it believed. */
const STANDS_MS = 5_000

/** What buyers of the lost node saw: ms to the first grant, and how many of 100 asks in the window were refused. */
interface Loss {
  readonly ms: number
  readonly refusedPercent: number
}

/** Goal: <= 2 s to the first grant, and a planned leave refuses nobody. */
export async function runFailover(): Promise<BenchResult[]> {
  const rig = await startRig()
  const tokens = new Map<number, string>()
  const losses = { killed: [] as Loss[], stopped: [] as Loss[], left: [] as Loss[], restarted: [] as Loss[] }
  try {
    for (let run = 0; run < RUNS; run++) {
      losses.killed.push(await killed(rig, tokens))
      losses.stopped.push(await stopped(rig, tokens))
      losses.left.push(await left(rig, tokens))
      losses.restarted.push(await restarted(rig, tokens))
    }
    await checkTokens(rig, tokens)
  } finally {
    await rig.stop()
  }
  const ms = (list: readonly Loss[]) => list.map((loss) => loss.ms)
  const refused = (list: readonly Loss[]) => list.map((loss) => loss.refusedPercent)
  const restart = ms(losses.restarted)
  return [
    result('kill -9, median', 'ms to the first grant', median(ms(losses.killed)), median(restart)),
    result('kill -9, max', 'ms to the first grant', Math.max(...ms(losses.killed)), Math.max(...restart)),
    result('SIGSTOP, median', 'ms to the first grant', median(ms(losses.stopped)), median(restart)),
    result('SIGSTOP, max', 'ms to the first grant', Math.max(...ms(losses.stopped)), Math.max(...restart)),
    result(
      'planned leave, max',
      '% of its asks refused',
      Math.max(...refused(losses.left)),
      median(refused(losses.killed)),
    ),
  ]
}

function result(name: string, unit: string, value: number, baseline: number): BenchResult {
  return { name: `failover: ${name}`, unit, value, baseline, ratio: value / baseline, runs: RUNS }
}

async function killed(rig: FailoverRig, tokens: Map<number, string>): Promise<Loss> {
  const loss = await lose(rig, tokens, () => void rig.end('SIGKILL'))
  await rig.join()
  return loss
}

async function stopped(rig: FailoverRig, tokens: Map<number, string>): Promise<Loss> {
  const loss = await lose(rig, tokens, () => void process.kill(rig.pid, 'SIGSTOP'))
  await sleep(STANDS_MS - WINDOW_MS)
  process.kill(rig.pid, 'SIGCONT')
  await rig.settled()
  return loss
}

async function left(rig: FailoverRig, tokens: Map<number, string>): Promise<Loss> {
  let ended = Promise.resolve()
  const loss = await lose(rig, tokens, () => {
    ended = rig.end('SIGTERM')
  })
  await ended
  await rig.join()
  return loss
}

async function restarted(rig: FailoverRig, tokens: Map<number, string>): Promise<Loss> {
  let joined = Promise.resolve()
  const loss = await lose(rig, tokens, () => {
    joined = rig.end('SIGKILL').then(() => rig.join())
  })
  await joined
  return loss
}

/** From the loss on, buyers of the lost node ask all the while. */
async function lose(rig: FailoverRig, tokens: Map<number, string>, act: () => void): Promise<Loss> {
  const isVictims = await rig.isVictims()
  const asks: Promise<void>[] = []
  let [grantedAt, refused] = [0, 0]
  act()
  const lostAt = performance.now()
  const ask = async () => {
    const uid = rig.nextUid(isVictims)
    const { status, token } = await rig.buy(uid).catch(() => ({ status: 0, token: undefined }))
    if (status !== 200 && status !== 202) refused++
    if (token === undefined) return
    tokens.set(uid, token)
    grantedAt ||= performance.now()
  }
  await until('a grant by another node', async () => {
    asks.push(ask())
    await sleep(ASK_EVERY_MS)
    return grantedAt > 0 && performance.now() - lostAt > WINDOW_MS
  })
  await Promise.all(asks)
  return { ms: grantedAt - lostAt, refusedPercent: (100 * refused) / asks.length }
}

async function checkTokens(rig: FailoverRig, tokens: ReadonlyMap<number, string>): Promise<void> {
  for (const [uid, token] of tokens) {
    let again: string | undefined
    await until(`the answer to buyer ${uid}`, async () => {
      again = (await rig.buy(uid)).token
      return again !== undefined
    })
    if (again !== token) throw new Error(`buyer ${uid} got two tokens`)
  }
}
