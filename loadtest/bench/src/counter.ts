/** Reservations per second on one hot SKU, through the ledger's API; baseline: the bare call of the same script. */

import { startRedis } from '@bigtap/engines'
import { nullLogger } from '@bigtap/kernel'
import { connectStore, Ledger, metaKey, RESERVE_SCRIPT, type Reservation, type Store } from '@bigtap/store'
import { median } from './percentiles.ts'
import type { BenchResult } from './result.ts'

const BATCH = 32
const IN_FLIGHT = 8
// Many short rounds, each side first in turn: what else the machine does falls on both.
const BATCHES_PER_RUN = 300
const RUNS = 20
const STOCK = 5_000_000

/** Runs both in turn. */
export async function runCounter(): Promise<BenchResult[]> {
  const engine = await startRedis({ appendfsync: 'no' })
  const store = connectStore({ url: engine.url, commandMsMax: 10_000 }, { logger: nullLogger })
  try {
    await store.waitUntilReady(5_000)
    const ledger = new Ledger(store)
    await ledger.open(1, 'unlimited', [
      { skuId: 1, stock: STOCK, overbook: 1, limitPerBuyer: 1, priceCents: 1, holdSeconds: 3_600 },
    ])
    const guard = await ledger.guards.get(1)
    const values: number[] = []
    const baselines: number[] = []
    for (let run = 0; run < RUNS + 1; run++) {
      const sides = [
        { rates: values, call: (first: number) => ledger.reserve(1, batchOf(first)) },
        { rates: baselines, call: (first: number) => bareReserve(store, guard, batchOf(first)) },
      ]
      for (const { rates, call } of run % 2 === 0 ? sides : sides.reverse()) {
        const perSecond = await rate(call)
        if (run > 0) rates.push(perSecond) // the first round warms up
      }
    }
    const value = median(values)
    const baseline = median(baselines)
    const name = `counter: reserve, ${BATCH} a call`
    return [{ name, unit: 'reservations/s', value, baseline, ratio: value / baseline, runs: RUNS }]
  } finally {
    await store.close()
    await engine.stop()
  }
}

let next = 0

async function rate(call: (first: number) => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  let left = BATCHES_PER_RUN
  const lane = async () => {
    while (left-- > 0) {
      const first = next
      next += BATCH
      await call(first)
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane))
  return (BATCHES_PER_RUN * BATCH * 1_000) / (performance.now() - startedAt)
}

const EXPIRES_AT = Date.now() + 3_600_000

function batchOf(first: number): Reservation[] {
  return Array.from({ length: BATCH }, (_, index) => ({
    tokenId: (first + index).toString(16).padStart(32, '0'),
    uid: first + index + 1,
    skuId: 1,
    quantity: 1,
    expiresAt: EXPIRES_AT,
  }))
}

function bareReserve({ redis }: Store, guard: string, batch: readonly Reservation[]): Promise<unknown> {
  const args = batch.flatMap(({ tokenId, uid, skuId, quantity, expiresAt }) => [
    tokenId,
    uid,
    skuId,
    quantity,
    expiresAt,
  ])
  return redis.evalsha(RESERVE_SCRIPT.sha, 1, metaKey(1), guard, ...args)
}
