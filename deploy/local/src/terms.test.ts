import { describe, expect, test } from 'vitest'
import { parseArgs } from './args.ts'
import { activityTerms, shareOf, skuTerms } from './terms.ts'

function optionsOf(...args: string[]) {
  const parsed = parseArgs(args)
  if (!parsed.ok) throw new Error(parsed.errors.join())
  return parsed.options
}
describe('terms of the demo sale', () => {
  test('stock is spread over the products without losing a unit', () => {
    expect([0, 1, 2].map((index) => shareOf(500, 3, index))).toEqual([167, 167, 166])
    expect([0, 1, 2].map((index) => shareOf(1, 3, index))).toEqual([1, 0, 0])
  })

  test('name the way of admission and who is challenged', () => {
    const options = optionsOf('--profile', 'shared', '--admission', 'draw', '--challenge', 'all')

    expect(activityTerms(options, 1_000, 2_000)).toMatchObject({
      ...{ opensAt: 1_000, closesAt: 2_000, admission: 'draw' },
      ...{ waiting: { drawSeconds: 5 }, challenge: { mode: 'all' } },
    })
    expect(activityTerms(optionsOf(), 1, 2)).toMatchObject({ admission: 'direct' })
    expect(activityTerms(optionsOf(), 1, 2)).not.toHaveProperty('challenge')
  })

  test('without a profile nobody is limited, with one each buyer and each address is, an address generously', () => {
    expect(activityTerms(optionsOf(), 1, 2)).not.toHaveProperty('accessLimits')
    const { accessLimits } = activityTerms(optionsOf('--profile', 'mixed', '--buyers', '20000'), 1, 2)
    expect(accessLimits).toMatchObject([
      { scope: 'uid', maxCount: 10 },
      { scope: 'ip', maxCount: 1_000 },
    ])
  })

  test('an attack does not outlast the stock', () => {
    const pace = (...args: string[]) => {
      const { policy } = skuTerms(optionsOf('--buyers', '20000', '--stock', '500', '--bots', '0.9', ...args), 0)
      return (policy as { pacePerSecond: number }).pacePerSecond
    }
    expect(pace()).toBe(40)
    expect(pace('--profile', 'mixed')).toBeLessThan(8)
  })
})
