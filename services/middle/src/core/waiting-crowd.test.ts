import { expect, test } from 'vitest'
import { estimateWaiting, LOOK_EVERY_MS, RETRY_MS_MAX, retryFor } from './waiting-crowd.ts'

/** Buyers who come back as told; returns the asks of each second. */
function simulate(buyers: number, seconds: number, queuedPerSecond: number): number[] {
  let state = 17
  const draw = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state / 2 ** 32
  }
  const nextAsk = Array.from({ length: buyers }, () => draw() * 1_000)
  const asks = new Array<number>(seconds).fill(0)
  let waiting = 0
  let retryAfterMs = 150
  for (let now = 0; now < seconds * 1_000; now += LOOK_EVERY_MS) {
    let queued = 0
    for (let buyer = 0; buyer < buyers; buyer++) {
      while ((nextAsk[buyer] ?? 0) < now + LOOK_EVERY_MS) {
        queued++
        asks[Math.floor(now / 1_000)] = (asks[Math.floor(now / 1_000)] ?? 0) + 1
        nextAsk[buyer] = (nextAsk[buyer] ?? 0) + retryAfterMs * (0.8 + 0.4 * draw())
      }
    }
    waiting = estimateWaiting({ queued, elapsedMs: LOOK_EVERY_MS, retryAfterMs, waiting })
    retryAfterMs = retryFor(waiting, queuedPerSecond, 150)
  }
  return asks
}

test('a crowd that waits is told to come back so that it asks about as often as it may', () => {
  const asks = simulate(2_000, 60, 400)
  const late = asks.slice(20)
  const mean = late.reduce((sum, count) => sum + count, 0) / late.length
  expect(mean).toBeLessThan(600)
  expect(mean).toBeGreaterThan(150)
})

test('a small crowd is not kept waiting, and nobody longer than the most', () => {
  expect(retryFor(0, 400, 150)).toBe(150)
  expect(retryFor(1_000_000, 400, 150)).toBe(RETRY_MS_MAX)
})
