import { expect, test } from 'vitest'
import { stepLineRate } from './line-rate.ts'

const NOW = 1_800_000_000_000

test('the rate follows the cursor, and a line that begins anew is measured anew', () => {
  let rate = stepLineRate(undefined, 0, NOW)
  for (let second = 1; second <= 5; second++) rate = stepLineRate(rate, second * 20, NOW + second * 1_000)

  expect(rate.perSecond).toBeCloseTo(20)
  expect(stepLineRate(rate, 100, NOW + 5_400)).toBe(rate)
  expect(stepLineRate(rate, 3, NOW + 7_000).perSecond).toBe(0)
})
