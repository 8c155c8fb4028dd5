/**
 * The last unit is paid → every limiter answers sold out; a unit is added → every limiter sells again. Real processes,
 * the platform of `npm start`; the baseline is the same platform without routers, whose fronts only poll the catalog.
 */

import { percentile } from './percentiles.ts'
import type { BenchResult } from './result.ts'
import { type BenchSale, type BenchShop, pathOf, withShop } from './shop.ts'

const ROUNDS = 30

interface Times {
  readonly soldOut: number[]
  readonly reopened: number[]
}

/** Goals: sold out everywhere <= 500 ms p99, selling again <= 1 s. */
export async function runSoldout(): Promise<BenchResult[]> {
  const baseline = await withShop(0, measure)
  const value = await withShop(2, measure)
  return (['soldOut', 'reopened'] as const).flatMap((what) =>
    ([50, 99, 100] as const).map((percent) => {
      const [ours, theirs] = [percentile(value[what], percent), percentile(baseline[what], percent)]
      const name = `soldout ${what === 'soldOut' ? 'everywhere' : 'to selling again'} ${percent === 100 ? 'max' : `p${percent}`}`
      return { name, unit: 'ms', value: ours, baseline: theirs, ratio: ours / theirs, runs: ROUNDS }
    }),
  )
}

async function measure(shop: BenchShop): Promise<Times> {
  const sale = await shop.openSale(ROUNDS, 1)
  const times: Times = { soldOut: [], reopened: [] }
  for (const [index, skuId] of sale.skuIds.entries()) await round(shop, sale, { skuId, uid: 1_000 + index }, times)
  return times
}

async function round(
  shop: BenchShop,
  sale: BenchSale,
  { skuId, uid }: { skuId: number; uid: number },
  times: Times,
): Promise<void> {
  const session = await shop.signIn(uid)
  const path = pathOf(sale, skuId)
  const orderId = await shop.order(sale, skuId, session)
  const paidAt = performance.now()
  await shop.pay(orderId, session)
  await shop.untilAll(path, session, 410)
  times.soldOut.push(performance.now() - paidAt)
  const addedAt = performance.now()
  const stock = `activities/${sale.activityId}/skus/${skuId}/stock`
  await shop.admin.call('POST', stock, { op: 'add', units: 1, reason: 'bench' })
  await shop.untilAll(path, session, 200)
  times.reopened.push(performance.now() - addedAt)
}
