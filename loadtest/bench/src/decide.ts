/** Middle's core: decisions per second and bytes per decision, against the same steps over a Map of objects. */

import { VERDICT } from '@bigtap/domain'
import { DECISION, Decider, SLOT } from '@bigtap/middle/core/decide'
import { settleWrite } from '@bigtap/middle/core/grants'
import { AskColumns } from '@bigtap/protocol'
import { median } from './percentiles.ts'
import type { BenchResult } from './result.ts'

const ROWS = 4_096
const BUYERS = 400_000
const STOCK = 20_000
const ROUNDS = 250
const RUNS = 5
const NOW = 1_800_000_000_000
const SKUS = 64
/** Uids as a shop has them: beyond 2^31, so that no number fits a small integer. */
const UID_BASE = 10_000_000_000

/** A crowd of 400,000 asks for 20,000 units of 64 SKUs: most are queued, some repeat, some are granted. */
export async function runDecide(): Promise<BenchResult[]> {
  const frames = makeFrames()
  const values: number[] = []
  const baselines: number[] = []
  let bytesPerOp = 0
  for (let run = 0; run < RUNS; run++) {
    const columns = columnCore()
    values.push(measure(frames, columns.decide))
    baselines.push(measure(frames, mapCore()))
    bytesPerOp = bytesOf(frames, columns.decide)
  }
  const [value, baseline] = [median(values), median(baselines)]
  return [{ name: 'decide', unit: 'decisions/s', value, baseline, ratio: value / baseline, runs: RUNS, bytesPerOp }]
}

type Decide = (asks: AskColumns, row: number) => number

function makeFrames(): AskColumns[] {
  let state = 7
  const pick = (count: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * count)
  }
  return Array.from({ length: 64 }, () => {
    const asks = new AskColumns(ROWS)
    for (let row = 0; row < ROWS; row++) asks.push(row, UID_BASE + pick(BUYERS), 1, 1 + pick(SKUS), 1)
    return asks
  })
}

function columnCore(): { decide: Decide } {
  const decider = new Decider({ recordsMax: STOCK * 2, pendingMax: STOCK })
  decider.slots.fill(SLOT.own)
  decider.now = NOW
  const { skus, buyers } = decider
  for (let id = 1; id <= SKUS; id++) {
    const sku = skus.add(1, id)
    skus.gate[sku] = 0
    skus.isServing[sku] = 1
    skus.closesAt[sku] = NOW * 2
    skus.leaseUntil[sku] = NOW * 2
    skus.rule[sku] = 2
    skus.limitPerBuyer[sku] = 1
    skus.available[sku] = Math.floor(STOCK / SKUS)
  }
  const decide = (asks: AskColumns, row: number): number => {
    const decision = decider.decide(asks, row)
    if (decision !== DECISION.grant) return decision
    const { record } = decider
    buyers.expiresAt[record] = NOW * 2
    settleWrite(decider, record, 'written')
    buyers.readAt[record] = NOW
    return VERDICT.granted
  }
  return { decide }
}

interface Sku {
  available: number
  readonly closesAt: number
  readonly limit: number
}

interface BuyerGrant {
  readonly skuId: number
  readonly expiresAt: number
}

/** The same steps as one would write them first: maps, keys made of text, objects. */
function mapCore(): Decide {
  const skus = new Map<string, Sku>()
  const buyers = new Map<number, BuyerGrant[]>()
  for (let id = 1; id <= SKUS; id++)
    skus.set(`1:${id}`, { available: Math.floor(STOCK / SKUS), closesAt: NOW * 2, limit: 1 })
  return (asks, row) => {
    const uid = asks.uid[row] as number
    const skuId = asks.skuId[row] as number
    const sku = skus.get(`${asks.activityId[row]}:${skuId}`)
    if (sku === undefined) return VERDICT.unknownSku
    if (NOW >= sku.closesAt) return VERDICT.ended
    const grants = buyers.get(uid) ?? []
    const own = grants.filter((grant) => grant.skuId === skuId)
    if (own.some(({ expiresAt }) => expiresAt > NOW)) return VERDICT.granted
    if (own.length >= sku.limit) return VERDICT.alreadyBought
    if (sku.available < 1) return VERDICT.queued
    sku.available--
    buyers.set(uid, [...grants, { skuId, expiresAt: NOW * 2 }])
    return VERDICT.granted
  }
}

/** Decisions per second. */
function measure(frames: readonly AskColumns[], decide: Decide): number {
  let checksum = 0
  const startedAt = performance.now()
  for (let round = 0; round < ROUNDS; round++)
    checksum += decideAll(frames[round % frames.length] as AskColumns, decide)
  const seconds = (performance.now() - startedAt) / 1_000
  if (checksum === 0) throw new Error('nothing was decided')
  return (ROUNDS * ROWS) / seconds
}

function decideAll(asks: AskColumns, decide: Decide): number {
  let checksum = 0
  for (let row = 0; row < asks.rows; row++) checksum += decide(asks, row)
  return checksum
}

/** Bytes that stay or were made per decision: the heap's growth while nothing is collected. */
function bytesOf(frames: readonly AskColumns[], decide: Decide): number {
  const collect = (globalThis as { gc?: () => void }).gc
  collect?.()
  const before = process.memoryUsage().heapUsed
  for (const frame of frames) decideAll(frame, decide)
  const grown = process.memoryUsage().heapUsed - before
  return Math.max(0, grown) / (frames.length * ROWS)
}
