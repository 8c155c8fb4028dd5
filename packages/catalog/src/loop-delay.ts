import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { Clock } from '@bigtap/kernel'

/** 50 ms: 20 wake-ups a second; what is looked for is a quarter of a second. */
const RESOLUTION_MS = 50
/** How far back the longest delay is told: this long, or up to twice as long. */
const WINDOW_MS = 1_000
const NS_PER_MS = 1_000_000

/** The longest delay of this process's event loop lately. */
export class LoopDelay {
  readonly #clock: Clock
  #monitor: IntervalHistogram | undefined
  #windowEndsAt = 0
  #lastMs = 0

  constructor(parts: { clock: Clock }) {
    this.#clock = parts.clock
  }

  start(): void {
    this.#monitor ??= monitorEventLoopDelay({ resolution: RESOLUTION_MS })
    this.#monitor.enable()
  }

  stop(): void {
    this.#monitor?.disable()
  }

  /** Milliseconds, 0 before the start. */
  readMs(): number {
    // The monitor counts from one of its own ticks to the next.
    const nowMs = Math.max(0, (this.#monitor?.max ?? 0) / NS_PER_MS - RESOLUTION_MS)
    const now = this.#clock.monotonic()
    if (now < this.#windowEndsAt) return Math.max(nowMs, this.#lastMs)
    this.#windowEndsAt = now + WINDOW_MS
    this.#lastMs = nowMs
    this.#monitor?.reset()
    return nowMs
  }
}
