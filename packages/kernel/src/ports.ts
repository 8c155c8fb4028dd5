/** What the platform needs from a machine, as ports: time, chance, log and metrics come in as arguments. */

/** Time. `now` is the wall clock in ms since the epoch; `monotonic` never goes back and counts ms from anywhere. */
export interface Clock {
  now(): number
  monotonic(): number
}

/** Chance. `next` lies in [0, 1). */
export interface Random {
  next(): number
  bytes(count: number): Uint8Array
}

/** Structured log lines: fields first, then what happened, in lower case. */
export interface Logger {
  debug(fields: Record<string, unknown>, message: string): void
  info(fields: Record<string, unknown>, message: string): void
  warn(fields: Record<string, unknown>, message: string): void
  error(fields: Record<string, unknown>, message: string): void
  child(fields: Record<string, unknown>): Logger
}

/** A count that only grows. */
export interface Counter {
  inc(by?: number): void
}

/** A distribution of durations in seconds. */
export interface Histogram {
  observe(seconds: number): void
}

/** Declares metrics; names are `bigtap_<service>_<what>_<unit>`, labels come from closed sets. */
export interface Metrics {
  counter(name: string, help: string, labels?: Record<string, string>): Counter
  gauge(name: string, help: string, read: () => number, labels?: Record<string, string>): void
  histogram(name: string, help: string, labels?: Record<string, string>): Histogram
}

/** A logger that says nothing. */
export const nullLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => nullLogger,
}

/** Metrics that nobody reads. */
export const nullMetrics: Metrics = {
  counter: () => ({ inc: () => undefined }),
  gauge: () => undefined,
  histogram: () => ({ observe: () => undefined }),
}
