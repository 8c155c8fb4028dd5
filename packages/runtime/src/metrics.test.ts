import { expect, test } from 'vitest'
import { createMetrics } from './metrics.ts'

test('a counter is there from the start, and counts', async () => {
  const metrics = createMetrics()
  const asks = metrics.counter('bigtap_test_asks_total', 'asks', { outcome: 'granted' })

  expect(await metrics.text()).toContain('bigtap_test_asks_total{outcome="granted"} 0')
  asks.inc()
  asks.inc(2)
  expect(await metrics.text()).toContain('bigtap_test_asks_total{outcome="granted"} 3')
})

test('a gauge is read when it is asked for, each label by its own reader', async () => {
  const metrics = createMetrics()
  let depth = 1
  metrics.gauge('bigtap_test_queue_depth_count', 'depth', () => depth, { queue: 'a' })
  metrics.gauge('bigtap_test_queue_depth_count', 'depth', () => 7, { queue: 'b' })
  depth = 5

  const text = await metrics.text()

  expect(text).toContain('bigtap_test_queue_depth_count{queue="a"} 5')
  expect(text).toContain('bigtap_test_queue_depth_count{queue="b"} 7')
})

test('a histogram has buckets from a quarter of a millisecond', async () => {
  const metrics = createMetrics()

  metrics.histogram('bigtap_test_call_seconds', 'calls').observe(0.0002)

  expect(await metrics.text()).toContain('bigtap_test_call_seconds_bucket{le="0.00025"} 1')
})
