/** Rows stored per second: batches through the repository, against one INSERT per row on the same server. */

import { createDb, type Db, migrate, type OrderRow } from '@bigtap/db'
import { startPostgres } from '@bigtap/engines'
import { assert } from '@bigtap/kernel'
import { median } from './percentiles.ts'
import type { BenchResult } from './result.ts'

/** As the order service stores them: one batch of the event log per call. */
const BATCH_ROWS = 500
const ROWS = 20_000
/** One INSERT per row is some twenty times slower: fewer rows, about the same time. */
const BASELINE_ROWS = 1_500
const RUNS = 3

/** Goal: 5,000 orders/s. */
export async function runOrders(): Promise<BenchResult[]> {
  const postgres = await startPostgres()
  await migrate(postgres.url)
  const db = createDb({ url: postgres.url })
  try {
    await storeInBatches(db, orders(BATCH_ROWS * 4)) // connections, plans and code are warm
    const values: number[] = []
    const baselines: number[] = []
    for (let run = 0; run < RUNS; run++) {
      values.push(await ratePerSecond(orders(ROWS), (rows) => storeInBatches(db, rows)))
      baselines.push(await ratePerSecond(orders(BASELINE_ROWS), (rows) => storeOneByOne(db, rows)))
    }
    const [value, baseline] = [median(values), median(baselines)]
    return [{ name: 'orders', unit: 'orders/s', value, baseline, ratio: value / baseline, runs: RUNS }]
  } finally {
    await db.close()
    await postgres.stop()
  }
}

async function storeInBatches(db: Db, rows: readonly OrderRow[]): Promise<number> {
  let stored = 0
  for (let at = 0; at < rows.length; at += BATCH_ROWS)
    stored += await db.orders.upsertMany(rows.slice(at, at + BATCH_ROWS))
  return stored
}

async function storeOneByOne(db: Db, rows: readonly OrderRow[]): Promise<number> {
  let stored = 0
  for (const row of rows) stored += await db.orders.upsertMany([row])
  return stored
}

async function ratePerSecond(rows: OrderRow[], store: (rows: readonly OrderRow[]) => Promise<number>): Promise<number> {
  const started = performance.now()
  const stored = await store(rows)
  assert(stored === rows.length, `${stored} of ${rows.length} orders were stored`)
  return rows.length / ((performance.now() - started) / 1_000)
}

let lastOrder = 0

function orders(count: number): OrderRow[] {
  const now = Date.now()
  return Array.from({ length: count }, () => {
    const seq = ++lastOrder
    // Ids are spread as token ids are, so that the index grows everywhere.
    const spread = (Math.imul(seq, 0x9e3779b1) >>> 0).toString(16).padStart(8, '0')
    const tokenId = `${spread}${seq.toString(16).padStart(24, '0')}`
    return {
      ...{ orderId: `o${tokenId}`, tokenId, activityId: 1, skuId: 1 + (seq % 3), uid: seq, quantity: 1 },
      ...{ priceCents: 199_900, currency: 'CNY', state: 'held', version: 1, seq },
      ...{ createdAt: now, payBy: now + 900_000, updatedAt: now },
    }
  })
}
