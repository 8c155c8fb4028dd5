/** What a process takes of its machine, for those who watch it. */

import { monitorEventLoopDelay } from 'node:perf_hooks'

/** `cpu`: share of a core since the reading before. `rss`: bytes. `eventLoopMs`: the longest standstill since then. */
export interface ProcessFigures {
  readonly cpu: number
  readonly rss: number
  readonly eventLoopMs: number
}

const RESOLUTION_MS = 10
/** Readings closer together see the same: a share of so little time says nothing. */
const READ_EVERY_MS = 200

/** Begins to measure; the function reads. */
export function watchProcess(): () => ProcessFigures {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  let usage = process.cpuUsage()
  let readAt = performance.now()
  let last: ProcessFigures = { cpu: 0, rss: process.memoryUsage.rss(), eventLoopMs: 0 }
  return () => {
    const now = performance.now()
    if (now - readAt < READ_EVERY_MS) return last
    const used = process.cpuUsage(usage)
    const cpu = (used.user + used.system) / 1_000 / (now - readAt)
    // What the histogram measures has its own resolution in it.
    const eventLoopMs = delay.count === 0 ? 0 : Math.max(0, delay.max / 1e6 - RESOLUTION_MS)
    last = { cpu, rss: process.memoryUsage.rss(), eventLoopMs }
    usage = process.cpuUsage()
    readAt = now
    delay.reset()
    return last
  }
}
