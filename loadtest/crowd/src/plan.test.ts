import { SeededRandom } from '@bigtap/testkit'
import { describe, expect, test } from 'vitest'
import { planCrowd } from './plan.ts'

const settings = { buyers: 1_000, bots: 0.3, skus: 3, seed: 7 }
const draw = (seed: number) => {
  const random = new SeededRandom(seed)
  return () => random.next()
}

describe('crowd', () => {
  test('is the same crowd for the same seed, and another for another', () => {
    expect(planCrowd(settings, draw(7))).toEqual(planCrowd(settings, draw(7)))
    expect(planCrowd(settings, draw(7))).not.toEqual(planCrowd(settings, draw(8)))
  })

  test('has the asked share of bots, and every buyer has a number of its own', () => {
    const plans = planCrowd(settings, draw(7))

    expect(plans.filter(({ kind }) => kind === 'bot')).toHaveLength(300)
    expect(new Set(plans.map(({ uid }) => uid)).size).toBe(1_000)
  })

  test('arrives packed into the first seconds, in order', () => {
    const plans = planCrowd(settings, draw(7))
    const times = plans.map(({ arriveMs }) => arriveMs)

    expect(times).toEqual([...times].sort((a, b) => a - b))
    expect(Math.max(...times)).toBeLessThanOrEqual(5_000)
    expect(times.filter((ms) => ms < 1_500).length).toBeGreaterThan(700)
  })
})
