import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SkuTable } from './sku-table.ts'
import { estimateWaiting, LOOK_EVERY_MS, nextReturn, RETRY_MS_MAX, tellReturn } from './waiting-crowd.ts'

const SHORTEST_MS = 150
const STEP_MS = 50

/** Buyers who arrive within a second and come back as told; returns the asks of each second and the last estimate. */
function simulate(buyers: number, seconds: number, perSecond: number): { asks: number[]; waiting: number } {
  const skus = new SkuTable()
  const sku = skus.add(1, 1)
  skus.retryAfterMs[sku] = SHORTEST_MS
  skus.returnsPerSecond[sku] = perSecond
  const nextAsk = Array.from({ length: buyers }, (_, buyer) => (buyer * 1_000) / buyers)
  const asks = new Array<number>(seconds).fill(0)
  let waiting = 0
  for (let now = 0; now < seconds * 1_000; now += STEP_MS) {
    for (let buyer = 0; buyer < buyers; buyer++) {
      if ((nextAsk[buyer] as number) >= now + STEP_MS) continue
      const second = Math.floor(now / 1_000)
      asks[second] = (asks[second] as number) + 1
      nextAsk[buyer] = now + tellReturn(skus, sku, now)
    }
    if (now % LOOK_EVERY_MS > 0) continue
    const [queued, toldMs] = [skus.queued[sku] as number, skus.toldMs[sku] as number]
    waiting = estimateWaiting({ queued, toldMs, elapsedMs: LOOK_EVERY_MS, waiting })
    skus.queued[sku] = 0
    skus.toldMs[sku] = 0
  }
  return { asks, waiting }
}

test('a crowd that came in one second comes back evenly: no second is without buyers, none has a wave', () => {
  const { asks } = simulate(3_600, 30, 400)

  for (const count of asks.slice(2)) {
    expect(count).toBeGreaterThan(380)
    expect(count).toBeLessThan(420)
  }
})

test('a crowd that is too large for that asks more often, and without a pause', () => {
  const { asks } = simulate(24_000, 90, 400)

  for (const count of asks.slice(21)) {
    expect(count).toBeGreaterThan(600)
    expect(count).toBeLessThan(2_600)
  }
})

test.each([100, 1_000, 4_000, 12_000])(
  'that %i wait is known about, and not taken for many more meanwhile',
  (count) => {
    expect(simulate(count, 1, 400).waiting).toBeLessThanOrEqual(count)
    // Twice the longest time that anybody is told to stay away.
    const { waiting } = simulate(count, 60, 400)
    // A crowd that is told in layers is seen larger and smaller in turn.
    expect(waiting).toBeGreaterThan(count * 0.4)
    expect(waiting).toBeLessThan(count * 1.6)
  },
)

test('a small crowd is not kept waiting', () => {
  const { asks } = simulate(20, 10, 400)

  expect(asks.at(-1)).toBeGreaterThanOrEqual(20 * 5)
})

test('nobody is told less than the shortest or more than the longest time, whatever was told before', () => {
  const numbers = fc.double({ min: 0, max: 1e13, noNaN: true })
  const limits = [fc.double({ min: 0, max: 1e6, noNaN: true }), fc.integer({ min: 0, max: 1_000 })] as const
  fc.assert(
    fc.property(numbers, numbers, ...limits, (last, now, perSecond, shortestMs) => {
      const at = nextReturn(last, now, perSecond, shortestMs)

      expect(at - now).toBeGreaterThanOrEqual(shortestMs - 0.01)
      expect(at - now).toBeLessThanOrEqual(RETRY_MS_MAX + 0.01)
    }),
    { seed: 1 },
  )
})
