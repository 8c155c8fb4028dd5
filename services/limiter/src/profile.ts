/**
 * The offline profile: what was known of buyers before the sale, from a file that an operator puts beside the limiter.
 *
 * ```
 *   every 5 s  stat ─ same ─► nothing
 *                   └ another ─► read in pieces of 32 KiB ─ changed meanwhile ─► again at the next look
 *                                                         ├ unreadable, too many, no good line ─► the last good stays
 *                                                         └ good ─► in force at once, bad lines named
 * ```
 */

import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import type { Tier } from '@bigtap/domain'
import type { Counter, Logger, Metrics } from '@bigtap/kernel'
import { PROFILE_LINES_LIMITS, ProfileLines } from './core/profile-lines.ts'
import { ProfileTable } from './core/profile-table.ts'

/** Which file (empty: none), how often it is looked at, and how many uids are taken. */
export interface ProfileSettings {
  readonly file: string
  readonly pollMs?: number
  readonly uidsMax?: number
}

/** Collaborators. */
export interface ProfileParts {
  readonly logger: Logger
  readonly metrics: Metrics
}

/** Most uids of tier 1 and worse, 48 MB; a file with more is refused whole. */
export const PROFILE_UIDS_MAX = 5_000_000
/** How often the file is looked at. */
export const PROFILE_POLL_MS = 5_000
/** Some 2,700 lines: 1 ms of work, then others have their turn. */
const PIECE_BYTES = 32_768
/** Shown at /debug/config. */
export const PROFILE_LIMITS = { uidsMax: PROFILE_UIDS_MAX, pollMs: PROFILE_POLL_MS, ...PROFILE_LINES_LIMITS } as const

interface Loaded {
  readonly table: ProfileTable
  readonly lines: ProfileLines
  readonly isTooLarge: boolean
}

/** The profile in force; nobody is known before a file was read. */
export class Profile {
  readonly #settings: Required<ProfileSettings>
  readonly #logger: Logger
  readonly #refused: Counter
  #table: ProfileTable
  #badLines = 0
  /** The version of the file that was read, good or not: it is not read again. */
  #seen = ''
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined

  constructor({ file, pollMs = PROFILE_POLL_MS, uidsMax = PROFILE_UIDS_MAX }: ProfileSettings, parts: ProfileParts) {
    const { logger, metrics } = parts
    this.#settings = { file, pollMs, uidsMax }
    this.#logger = logger
    this.#table = new ProfileTable({ uidsMax })
    metrics.gauge('bigtap_limiter_profile_uids_count', 'Buyers with a tier from the offline profile', () => this.size)
    metrics.gauge('bigtap_limiter_profile_bad_lines_count', 'Lines of it that say nothing', () => this.#badLines)
    this.#refused = metrics.counter('bigtap_limiter_profile_refused_total', 'Profiles that were not taken')
  }

  /** Buyers with a tier. */
  get size(): number {
    return this.#table.size
  }

  /** Bytes that they take. */
  get bytes(): number {
    return this.#table.bytes
  }

  /** Lines of the profile in force that say nothing. */
  get badLines(): number {
    return this.#badLines
  }

  /** What the profile says of a buyer; 0 when it says nothing. */
  tierOf(uid: number): Tier {
    return this.#table.tierOf(uid)
  }

  /** Begins to look at the file; nothing waits for it. */
  start(): void {
    if (this.#settings.file === '' || this.#timer !== undefined) return
    this.#timer = setInterval(() => void this.look(), this.#settings.pollMs)
    void this.look()
  }

  /** Stops to look; what was read stays. */
  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** One look: takes the file over when it is another than before. Rejects never; one look at a time. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #look(): Promise<void> {
    const { file } = this.#settings
    try {
      const version = await versionOf(file)
      if (version === this.#seen) return
      const loaded = await this.#read()
      if ((await versionOf(file)) !== version) return // it is still being written
      const fault = this.#faultOf(loaded)
      if (fault === undefined) this.#take(version, loaded)
      else this.#refuse(version, fault, loaded.lines)
    } catch (error) {
      this.#refuse('unreadable', error instanceof Error ? error.message : String(error))
    }
  }

  async #read(): Promise<Loaded> {
    const table = new ProfileTable({ uidsMax: this.#settings.uidsMax })
    let isTooLarge = false
    const lines = new ProfileLines((uid, tier) => {
      if (!table.add(uid, tier)) isTooLarge = true
    })
    for await (const piece of createReadStream(this.#settings.file, { highWaterMark: PIECE_BYTES })) {
      lines.feed(piece as Uint8Array)
      if (isTooLarge) break
      await setImmediate()
    }
    lines.end()
    return { table, lines, isTooLarge }
  }

  #faultOf({ lines, isTooLarge }: Loaded): string | undefined {
    if (isTooLarge) return `it has more than ${this.#settings.uidsMax} uids`
    return lines.bad > 0 && lines.bad === lines.lines ? 'no line of it is good' : undefined
  }

  #take(version: string, { table, lines }: Loaded): void {
    this.#seen = version
    this.#table = table
    this.#badLines = lines.bad
    const facts = { lines: lines.lines, uids: table.size, bytes: table.bytes }
    this.#logger.info(facts, 'the offline profile is in force')
    if (lines.bad > 0)
      this.#logger.warn({ bad: lines.bad, badLines: lines.badLines }, 'lines of the offline profile say nothing')
  }

  /** Said once for each version of the file; one that cannot be read is tried again at each look. */
  #refuse(version: string, reason: string, lines?: ProfileLines): void {
    if (version === this.#seen) return
    this.#seen = version
    this.#refused.inc()
    const facts = { reason, lines: lines?.lines, badLines: lines?.badLines, uids: this.size }
    this.#logger.error(facts, 'the offline profile is not taken, the last good one stays')
  }
}

async function versionOf(file: string): Promise<string> {
  const { mtimeMs, size, ino } = await stat(file)
  return `${ino}:${size}:${mtimeMs}`
}
