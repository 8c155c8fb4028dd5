/** Shape of a wait between tries: doubles from the base to the most; `draw` in [0, 1) spreads it over its upper half. */
export interface Backoff {
  readonly attempt: number
  readonly baseMs: number
  readonly maxMs: number
  readonly draw: number
}

/** How long to wait before the next try, ms ("equal jitter": half fixed, half drawn). `attempt` counts from 0. */
export function backoffMs({ attempt, baseMs, maxMs, draw }: Backoff): number {
  const full = Math.min(baseMs * 2 ** Math.min(attempt, 30), maxMs)
  return full / 2 + (full / 2) * draw
}

/** Spreads a wait by +-20 %, so that those who are told to come back do not all come at once. */
export function jitterMs(ms: number, draw: number): number {
  return Math.round(ms * (0.8 + 0.4 * draw))
}
