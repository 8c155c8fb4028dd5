/**
 * Antiblack's engine: rows of the request log per second of one core, taking in, decoding, counting and judging. Baseline:
 * taking in and decoding alone. The rows are those of the crowd of `--profile mixed`, nine in ten of them abuse.
 */

import { AccessIntake } from '@bigtap/antiblack/access-intake'
import { AbuseEngine } from '@bigtap/antiblack/core/engine'
import type { BuyerPlan } from '@bigtap/crowd/buyer-plan'
import { planCrowd } from '@bigtap/crowd/plan'
import { type Clock, nullLogger } from '@bigtap/kernel'
import { ACCESS_CALL, ACCESS_FLAG, ACCESS_OUTCOME, AccessColumns, encodeAccessBatch } from '@bigtap/protocol'
import { SeededRandom } from '@bigtap/testkit'
import { median } from './percentiles.ts'
import type { BenchResult } from './result.ts'

const RUNS = 5
const CROWD = { buyers: 20_000, bots: 0.9, skus: 2, seed: 11, profile: 'mixed' } as const
/** Records as limiters write them: one for each of 16 groups in 100 ms. */
const GROUPS = 16
const FLUSH_MS = 100
const ROWS_PER_RECORD = 250
/** 12 s at 40,000 rows a second: a window of 10 s goes round. */
const FLUSHES = 120
const STARTS_AT = 1_800_000_000_000

/** Goal: more than the limiters of a large sale write, per core. */
export async function runAntiblack(): Promise<BenchResult[]> {
  const flushes = writeLog()
  const values: number[] = []
  const baselines: number[] = []
  for (let run = 0; run < RUNS; run++) {
    values.push(await rowsPerSecond(flushes, new AbuseEngine()))
    baselines.push(await rowsPerSecond(flushes, undefined))
  }
  const [value, baseline] = [median(values), median(baselines)]
  const unit = 'events/s of one core'
  return [{ name: 'antiblack', unit, value, baseline, ratio: value / baseline, runs: RUNS }]
}

type Flush = readonly { readonly value: Uint8Array }[]

/** Takes in the whole log as fast as it goes; the time is that of the log. */
async function rowsPerSecond(flushes: readonly Flush[], engine: AbuseEngine | undefined): Promise<number> {
  let at = STARTS_AT
  const clock: Clock = { now: () => at, monotonic: () => performance.now() }
  const taking = { observe: (batch: AccessColumns) => engine?.observe(batch) }
  const limits = { staleMs: 3_000, rowsMax: ROWS_PER_RECORD }
  const intake = new AccessIntake(limits, { engine: taking, clock, logger: nullLogger })
  const cpu = process.cpuUsage()
  for (const records of flushes) {
    at += FLUSH_MS
    await intake.handle({ partition: 0, records } as unknown as Parameters<AccessIntake['handle']>[0])
    engine?.tick(at)
  }
  const { user, system } = process.cpuUsage(cpu)
  if (intake.events !== FLUSHES * GROUPS * ROWS_PER_RECORD) throw new Error(`only ${intake.events} rows were taken in`)
  return intake.events / ((user + system) / 1_000_000)
}

function writeLog(): Flush[] {
  const random = new SeededRandom(CROWD.seed)
  const draw = () => random.next()
  const plans = planCrowd(CROWD, draw)
  const columns = new AccessColumns(ROWS_PER_RECORD)
  return Array.from({ length: FLUSHES }, (_flush, flush) => {
    const at = STARTS_AT + flush * FLUSH_MS
    // The seats that are there at that time, as they come: an attack moves on.
    const from = Math.floor((flush / FLUSHES) * plans.length * 0.8)
    const present = plans.slice(from, from + plans.length / 5)
    return Array.from({ length: GROUPS }, () => ({ value: writeRecord(columns, present, at, draw) }))
  })
}

function writeRecord(
  columns: AccessColumns,
  present: readonly BuyerPlan[],
  at: number,
  draw: () => number,
): Uint8Array {
  columns.clear()
  columns.at = at
  columns.nodeId = 'limiter-1'
  const places = new Map<string, number>()
  for (let row = 0; row < ROWS_PER_RECORD; row++) {
    const plan = present[Math.floor(draw() * present.length)]
    if (plan === undefined) continue
    const [address = '127.0.0.1'] = plan.origin?.addresses ?? []
    if (!places.has(address)) places.set(address, columns.addresses.push(address) - 1)
    columns.afterMs[row] = Math.floor((row / ROWS_PER_RECORD) * FLUSH_MS)
    columns.uid[row] = plan.uid
    columns.activityId[row] = 1
    columns.skuId[row] = 1 + plan.skuIndex
    columns.call[row] = draw() < 0.3 ? ACCESS_CALL.path : ACCESS_CALL.buy
    const isForged = plan.profile === 'guesser'
    columns.outcome[row] = isForged ? ACCESS_OUTCOME.badTicket : ACCESS_OUTCOME.queued
    columns.flags[row] = isForged ? ACCESS_FLAG.badSignature : 0
    columns.tier[row] = 0
    columns.address[row] = places.get(address) ?? 0
    columns.device[row] = plan.kind === 'bot' ? 1 + (plan.uid % 7) : plan.uid
    columns.rows = row + 1
  }
  return encodeAccessBatch(columns)
}
