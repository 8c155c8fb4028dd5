/**
 * The owner of a buyer's slot is lost → a buyer of its slots is granted by the new owner. Real processes, the platform of
 * `npm start`: two Middle nodes, and a third that nobody starts again. It is killed (kill -9) or stands still (SIGSTOP);
 * the baseline is the same loss healed by starting the node again at once. Every token is asked for again at the end: a
 * second token for one buyer fails the bench.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { type FailoverRig, startRig, until } from './failover-rig.ts'
import type { BenchResult } from './result.ts'

const RUNS = 5
const ASK_EVERY_MS = 10
/** A node that stood still goes on after this long, with everything that it believed. */
const STANDS_MS = 5_000

/** Goal: <= 2 s. */
export async function runFailover(): Promise<BenchResult[]> {
  const rig = await startRig()
  const tokens = new Map<number, string>()
  const times = { killed: [] as number[], stopped: [] as number[], restarted: [] as number[] }
  try {
    for (let run = 0; run < RUNS; run++) {
      times.killed.push(await killed(rig, tokens))
      times.stopped.push(await stopped(rig, tokens))
      times.restarted.push(await restarted(rig, tokens))
    }
    await checkTokens(rig, tokens)
  } finally {
    await rig.stop()
  }
  const [baseline, worst] = [median(times.restarted), Math.max(...times.restarted)]
  const result = (name: string, value: number, base: number): BenchResult => ({
    ...{
      name: `failover: ${name}`,
      unit: 'ms to the first grant',
      value,
      baseline: base,
      ratio: value / base,
      runs: RUNS,
    },
  })
  return [
    result('kill -9, median', median(times.killed), baseline),
    result('kill -9, max', Math.max(...times.killed), worst),
    result('SIGSTOP, median', median(times.stopped), baseline),
    result('SIGSTOP, max', Math.max(...times.stopped), worst),
  ]
}

async function killed(rig: FailoverRig, tokens: Map<number, string>): Promise<number> {
  const ms = await lose(rig, tokens, () => void process.kill(rig.pid, 'SIGKILL'))
  await rig.join()
  return ms
}

async function stopped(rig: FailoverRig, tokens: Map<number, string>): Promise<number> {
  const stoppedAt = performance.now()
  const ms = await lose(rig, tokens, () => void process.kill(rig.pid, 'SIGSTOP'))
  await sleep(STANDS_MS - (performance.now() - stoppedAt))
  process.kill(rig.pid, 'SIGCONT')
  await rig.settled()
  return ms
}

async function restarted(rig: FailoverRig, tokens: Map<number, string>): Promise<number> {
  let joined = Promise.resolve()
  const ms = await lose(rig, tokens, () => {
    joined = rig.gone().then(() => rig.join())
  })
  await joined
  return ms
}

/** From the loss to the first grant for a buyer of the lost node; buyers ask all the while. */
async function lose(rig: FailoverRig, tokens: Map<number, string>, act: () => void): Promise<number> {
  const isVictims = await rig.isVictims()
  const asks: Promise<void>[] = []
  act()
  const lostAt = performance.now()
  let grantedAt = 0
  const ask = async () => {
    const uid = rig.nextUid(isVictims)
    const token = await rig.buy(uid).catch(() => undefined)
    if (token === undefined) return
    tokens.set(uid, token)
    grantedAt ||= performance.now()
  }
  await until('a grant by another node', async () => {
    asks.push(ask())
    await sleep(ASK_EVERY_MS)
    return grantedAt > 0
  })
  await Promise.all(asks)
  return grantedAt - lostAt
}

async function checkTokens(rig: FailoverRig, tokens: ReadonlyMap<number, string>): Promise<void> {
  for (const [uid, token] of tokens) {
    let again: string | undefined
    await until(`the answer to buyer ${uid}`, async () => {
      again = await rig.buy(uid)
      return again !== undefined
    })
    if (again !== token) throw new Error(`buyer ${uid} got two tokens`)
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
