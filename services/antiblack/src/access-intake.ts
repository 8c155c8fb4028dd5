/**
 * Takes the request log: decodes, looks at the age, lets the engine observe. What came late because a process was away is
 * caught up with. Who does not get out of its backlog passes it over, since a verdict that comes minutes after its reason
 * helps nobody, and everybody behind it waits:
 *
 * ```
 *   following ── a record older than staleMs ──► catching up ── 2 s, and late still ──► passing over      (by partition)
 *       ▲                                            └──── one younger than staleMs / 2 ────┘ │
 *       └────────────────────────────────────────────────────────────────────────────────────┘
 * ```
 */

import type { RecordBatch } from '@bigtap/eventlog'
import type { Clock, Logger } from '@bigtap/kernel'
import { AccessColumns, decodeAccessBatch } from '@bigtap/protocol'
import type { Engine } from './abuse-judge.ts'

/** How old a record may be, ms, and how many rows it has at most. */
export interface IntakeLimits {
  readonly staleMs: number
  readonly rowsMax: number
}

/** Collaborators. */
export interface IntakeParts {
  readonly engine: Pick<Engine, 'observe'>
  readonly clock: Clock
  readonly logger: Logger
  /** Copies a record that could be read. */
  readonly record?: (value: Uint8Array) => void
  /** Lets others work. */
  readonly turn?: () => Promise<void>
}

/** Why a record was not observed. */
export type Skip = 'undecodable' | 'stale' | 'ahead' | 'failed'
/** All reasons. */
export const SKIPS: readonly Skip[] = ['undecodable', 'stale', 'ahead', 'failed']

/** A record from so far ahead was written by a clock that is wrong; the windows must not follow it. */
const AHEAD_MS_MAX = 5_000
/** After so long others get their turn: ticks are due each 100 ms. */
const SLICE_MS = 20
const CATCH_UP_MS = 2_000
const CATCH_UP_PART = 1 / 2
/** No window goes back so far. */
const OLD_MS_MAX = 60_000
const PARTITIONS_MAX = 4_096

/** The handler of topic `access`. It never rejects: a record that cannot be handled now cannot be handled later. */
export class AccessIntake {
  /** Since the start. */
  readonly skipped: Record<Skip, number> = { undecodable: 0, stale: 0, ahead: 0, failed: 0 }
  events = 0
  records = 0
  readonly #limits: IntakeLimits
  readonly #parts: IntakeParts
  readonly #columns: AccessColumns
  /** Partitions that are late, and since when, ms of a monotonic clock. */
  readonly #late = new Map<number, number>()
  #lagMs = 0
  #isFaultSaid = false

  constructor(limits: IntakeLimits, parts: IntakeParts) {
    this.#limits = limits
    this.#parts = parts
    this.#columns = new AccessColumns(limits.rowsMax)
  }

  /** Age of the oldest record since the last look, ms; 0 when none came. */
  takeLagMs(): number {
    const lagMs = this.#lagMs
    this.#lagMs = 0
    return lagMs
  }

  /** Partitions that are late. */
  get behind(): number {
    return this.#late.size
  }

  async handle({ partition, records }: RecordBatch): Promise<void> {
    const { clock, turn = nextTurn } = this.#parts
    let since = clock.monotonic()
    for (const { value } of records) {
      const skip = this.#take(partition, value)
      if (skip !== undefined) this.skipped[skip]++
      if (clock.monotonic() - since < SLICE_MS) continue
      await turn()
      since = clock.monotonic()
    }
  }

  #take(partition: number, value: Uint8Array): Skip | undefined {
    const { engine, clock, record } = this.#parts
    try {
      decodeAccessBatch(value, this.#columns)
    } catch (error) {
      this.#say(error, 'a record of the request log cannot be read')
      return 'undecodable'
    }
    record?.(value)
    this.records++
    const ageMs = clock.now() - this.#columns.at
    this.#lagMs = Math.max(this.#lagMs, ageMs)
    if (ageMs < -AHEAD_MS_MAX) return 'ahead'
    if (this.#isTooOld(partition, ageMs)) return 'stale'
    try {
      engine.observe(this.#columns)
    } catch (error) {
      this.#say(error, 'a record could not be observed')
      return 'failed'
    }
    this.events += this.#columns.rows
    return undefined
  }

  #isTooOld(partition: number, ageMs: number): boolean {
    const { staleMs } = this.#limits
    if (ageMs > OLD_MS_MAX) return true
    if (ageMs <= staleMs * CATCH_UP_PART) {
      this.#late.delete(partition)
      return false
    }
    const now = this.#parts.clock.monotonic()
    const since = this.#late.get(partition)
    if (since !== undefined) return now - since > CATCH_UP_MS
    if (ageMs > staleMs && this.#late.size < PARTITIONS_MAX) this.#late.set(partition, now)
    return false
  }

  /** Said once in full, then only counted: a log that is bad is bad all over. */
  #say(error: unknown, message: string): void {
    this.#parts.logger[this.#isFaultSaid ? 'debug' : 'error']({ error }, message)
    this.#isFaultSaid = true
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
