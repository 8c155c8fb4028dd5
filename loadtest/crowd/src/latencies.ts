/** Latencies in buckets, and their percentiles. */

/** Latency buckets: 5 % wide from 0.1 ms on; 300 of them reach beyond 200 s. */
const BUCKET_WIDTH = 1.05
const BUCKETS = 300
const BUCKET_FIRST_MS = 0.1

/** Percentiles in ms. */
export interface Percentiles {
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
}

/** Counts latencies in fixed memory. */
export class Latencies {
  readonly #buckets = new Float64Array(BUCKETS)
  #max = 0
  #count = 0

  add(ms: number): void {
    const bucket = ms <= BUCKET_FIRST_MS ? 0 : Math.ceil(Math.log(ms / BUCKET_FIRST_MS) / Math.log(BUCKET_WIDTH))
    this.#buckets[Math.min(bucket, BUCKETS - 1)]++
    this.#count++
    if (ms > this.#max) this.#max = round(ms)
  }

  /** Each is at most one bucket (5 %) above the true value. */
  read(): Percentiles {
    return { p50: this.#percentile(0.5), p95: this.#percentile(0.95), p99: this.#percentile(0.99), max: this.#max }
  }

  #percentile(share: number): number {
    let left = Math.ceil(this.#count * share)
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      left -= this.#buckets[bucket] ?? 0
      if (left <= 0) return Math.min(round(BUCKET_FIRST_MS * BUCKET_WIDTH ** bucket), this.#max)
    }
    return this.#max
  }
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}
