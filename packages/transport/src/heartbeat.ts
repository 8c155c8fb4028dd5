import type { Clock } from '@bigtap/kernel'

/** What the heartbeat sees of a link. */
export interface Swept {
  sweep(now: number, isLate: boolean): void
}

/** A running heartbeat over a set of links. */
export interface Heartbeat {
  stop(): void
}

/**
 * One timer for all links of an owner; it looks four times per ping interval. A timer that comes later than a ping
 * interval says that this process stood still: what the peers sent still lies unread, so nobody is called dead then.
 */
export function startHeartbeat(pingMs: number, links: Iterable<Swept>, clock: Clock): Heartbeat {
  const everyMs = Math.max(1, Math.floor(pingMs / 4))
  let sweptAt = clock.monotonic()
  const timer = setInterval(() => {
    const now = clock.monotonic()
    const isLate = now - sweptAt > pingMs
    sweptAt = now
    for (const link of links) link.sweep(now, isLate)
  }, everyMs)
  return { stop: () => clearInterval(timer) }
}
