import { expect, test } from 'vitest'
import { COUNTED_SKUS_MAX, SkuCounts } from './sku-counts.ts'

const add = (column: Float64Array, row: number) => {
  column[row] = (column[row] as number) + 1
}
const told = (counts: SkuCounts) => {
  const rows: [number, number, number][] = []
  counts.forEach((activityId, skuId, row) => void rows.push([activityId, skuId, counts.asks[row] as number]))
  return rows
}

test('each SKU has its own count, however often its view is made anew', () => {
  const counts = new SkuCounts()

  for (const skuId of [1, 2, 1]) add(counts.asks, counts.rowOf(7, skuId))

  expect(told(counts)).toEqual([
    [7, 1, 2],
    [7, 2, 1],
  ])
  expect(counts.asksTotal).toBe(3)
})

test('what an activity leaves behind is nothing, and its rows serve another', () => {
  const counts = new SkuCounts()
  const row = counts.rowOf(7, 1)
  add(counts.asks, row)
  counts.rowOf(8, 1)

  counts.forget(7)

  expect(counts.rowOf(9, 1)).toBe(row)
  expect(told(counts)).toEqual([
    [8, 1, 0],
    [9, 1, 0],
  ])
})

test('SKUs beyond the limit are counted together and told to nobody', () => {
  const counts = new SkuCounts()
  for (let skuId = 1; skuId <= COUNTED_SKUS_MAX; skuId++) counts.rowOf(1, skuId)

  add(counts.asks, counts.rowOf(2, 1))
  add(counts.asks, counts.rowOf(2, 2))

  expect(told(counts)).toHaveLength(COUNTED_SKUS_MAX)
  expect(counts.asksTotal).toBe(2)
})
