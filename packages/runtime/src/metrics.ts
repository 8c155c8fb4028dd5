/** Metrics by prom-client behind the kernel's port. */

import type { Metrics } from '@bigtap/kernel'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** Metrics and their text for /metrics. */
export interface MetricsRegistry extends Metrics {
  text(): Promise<string>
  readonly contentType: string
}

/** Seconds; from a quarter of a millisecond to ten seconds. */
const BUCKETS = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Makes the registry of one process, with Node's own figures in it. */
export function createMetrics(): MetricsRegistry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'bigtap_' })
  const counters = new Map<string, Counter>()
  const histograms = new Map<string, Histogram>()
  const gauges = new Map<string, Gauge>()
  const once = <T>(known: Map<string, T>, name: string, make: () => T): T => {
    const found = known.get(name) ?? make()
    known.set(name, found)
    return found
  }
  const shape = (name: string, help: string, labels: Record<string, string>) => ({
    name,
    help,
    labelNames: Object.keys(labels),
    registers: [registry],
  })
  return {
    counter(name, help, labels = {}) {
      const counter = once(counters, name, () => new Counter(shape(name, help, labels)))
      const child = counter.labels(labels)
      child.inc(0)
      return { inc: (by = 1) => child.inc(by) }
    },
    gauge(name, help, read, labels = {}) {
      const readers = gaugeReaders(gauges, name, () => new Map())
      readers.set(JSON.stringify(labels), { labels, read })
      once(gauges, name, () => {
        const gauge: Gauge = new Gauge({
          ...shape(name, help, labels),
          collect: () => {
            for (const reader of readers.values()) gauge.set(reader.labels, reader.read())
          },
        })
        return gauge
      })
    },
    histogram(name, help, labels = {}) {
      const histogram = once(histograms, name, () => new Histogram({ ...shape(name, help, labels), buckets: BUCKETS }))
      return { observe: (seconds) => histogram.observe(labels, seconds) }
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}

interface GaugeReader {
  readonly labels: Record<string, string>
  readonly read: () => number
}

const readersOf = new WeakMap<Map<string, Gauge>, Map<string, Map<string, GaugeReader>>>()

function gaugeReaders(gauges: Map<string, Gauge>, name: string, make: () => Map<string, GaugeReader>) {
  const all = readersOf.get(gauges) ?? new Map<string, Map<string, GaugeReader>>()
  readersOf.set(gauges, all)
  const found = all.get(name) ?? make()
  all.set(name, found)
  return found
}
