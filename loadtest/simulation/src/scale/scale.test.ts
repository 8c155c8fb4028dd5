import { expect, test } from 'vitest'
import { runScale } from './scale.ts'

test('a small sale in the scale mode sells every unit once', async () => {
  const report = await runScale({ buyers: 20_000, limiters: 4, middles: 5, skus: 8, stock: 25 })

  expect(report.sold).toBe(8 * 25)
  expect(report.oversold).toBe(0)
  // Fifty for each unit at least: the others hear from the gate that nothing is left.
  expect(report.asks).toBeGreaterThan(8 * 25 * 50)
  expect(report.grantsPerNode.min).toBeGreaterThan(0)
}, 60_000)
