import { describe, expect, test } from 'vitest'
import { CrowdStats, classify } from './stats.ts'

describe('crowd statistics', () => {
  test.each([
    [200, undefined, 'granted'],
    [202, undefined, 'queued'],
    [410, 'sold_out', 'soldOut'],
    [409, 'already_bought', 'refused'],
    [425, 'not_started', 'refused'],
    [403, 'blocked', 'blocked'],
    [429, 'rate_limited', 'rateLimited'],
    [503, 'overloaded', 'overloaded'],
    [503, 'unavailable', 'error'],
    [500, undefined, 'error'],
    [0, undefined, 'error'],
  ])('an answer %i %s counts as %s', (status, code, expected) => {
    expect(classify(status, code)).toBe(expected)
  })

  test('percentiles are at most one bucket above the true value', () => {
    const stats = new CrowdStats()
    for (let ms = 1; ms <= 1000; ms++) stats.onAnswer('normal', 'queued', ms, ms)

    const { p50, p99, max } = stats.latency()

    expect(p50).toBeGreaterThanOrEqual(500)
    expect(p50).toBeLessThanOrEqual(525)
    expect(p99).toBeGreaterThanOrEqual(990)
    expect(max).toBe(1000)
  })
})
