/**
 * Imports of reservations: millions of lines through a bounded memory, with progress. It may be repeated: nobody is counted
 * twice, and `skipLines` goes on where one was cut off.
 *
 * ```
 *   body ─► lines ─► 8,192 uids ─► Redis (and only then the next piece of the body is read)
 * ```
 */

import { type Clock, CodedError, type Logger } from '@bigtap/kernel'
import type { Reservations } from '@bigtap/store'
import { type BadLine, type SeatFormat, SeatLines } from './core/seat-lines.ts'
import { Problem } from './http/edge.ts'

/** How far an import is. All of `lines` is stored. */
export interface ImportProgress {
  readonly activityId: number
  readonly startedAt: number
  readonly state: 'running' | 'done' | 'failed'
  readonly lines: number
  /** New reservations, and those that were there. */
  readonly added: number
  readonly known: number
  readonly bad: number
  readonly badLines: readonly BadLine[]
  readonly error?: string
}

/** Collaborators. */
export interface ImportParts {
  readonly reservations: Pick<Reservations, 'importMany' | 'count'>
  readonly clock: Clock
  readonly logger: Logger
}

/** At the limit another import is answered 503; of those that are over the last ones are remembered. */
export const IMPORT_LIMITS = { runningMax: 2, rememberedMax: 20, batchUids: 8_192, tellEveryMs: 500 } as const

/** All imports of this leader. */
export class ReservationImports {
  readonly #parts: ImportParts
  readonly #imports: ImportProgress[] = []

  constructor(parts: ImportParts) {
    this.#parts = parts
  }

  /** Imports of an activity, the newest first. */
  list(activityId: number): ImportProgress[] {
    return this.#imports.filter((one) => one.activityId === activityId).reverse()
  }

  /** Throws a Problem `overloaded` when as many run as may. */
  checkRoom(): void {
    const running = this.#imports.filter(({ state }) => state === 'running').length
    if (running >= IMPORT_LIMITS.runningMax)
      throw new Problem('overloaded', { detail: `${running} imports run already` })
  }

  /** Runs an import, and tells how far it is: at the start, at times, and at its end, also when it failed. */
  async *run(
    activityId: number,
    body: AsyncIterable<Uint8Array>,
    how: { format: SeatFormat; skipLines: number },
  ): AsyncGenerator<ImportProgress> {
    this.checkRoom()
    const { clock, logger } = this.#parts
    const none = { lines: 0, added: 0, known: 0, bad: 0, badLines: [] }
    let progress: ImportProgress = { activityId, startedAt: clock.now(), state: 'running', ...none }
    this.#remember(progress)
    const step = (more: Partial<ImportProgress>) => {
      const before = progress
      progress = { ...progress, ...more }
      this.#imports[this.#imports.indexOf(before)] = progress
      return progress
    }
    try {
      yield progress
      let toldAt = clock.monotonic()
      for await (const stored of this.#store(activityId, body, how)) {
        step(stored)
        if (clock.monotonic() - toldAt < IMPORT_LIMITS.tellEveryMs) continue
        toldAt = clock.monotonic()
        yield progress
      }
      yield step({ state: 'done' })
    } catch (error) {
      logger.warn({ error, activityId, lines: progress.lines }, 'an import of reservations was cut off')
      yield step({ state: 'failed', error: error instanceof CodedError ? error.message : 'the body was cut off' })
    } finally {
      if (progress.state === 'running') step({ state: 'failed', error: 'nobody waits for it any more' })
    }
  }

  async *#store(activityId: number, body: AsyncIterable<Uint8Array>, how: { format: SeatFormat; skipLines: number }) {
    const lines = new SeatLines(how)
    let waiting: number[] = []
    let [added, known] = [0, 0]
    const flush = async () => {
      const fresh = await this.#parts.reservations.importMany(activityId, waiting)
      added += fresh
      known += waiting.length - fresh
      waiting = []
      return { lines: lines.lines, added, known, bad: lines.bad, badLines: lines.badLines }
    }
    for await (const piece of body) {
      waiting.push(...lines.feed(piece))
      if (waiting.length >= IMPORT_LIMITS.batchUids) yield await flush()
    }
    waiting.push(...lines.end())
    yield await flush()
  }

  #remember(progress: ImportProgress): void {
    const isOver = (one: ImportProgress) => one.state !== 'running'
    if (this.#imports.length >= IMPORT_LIMITS.rememberedMax) {
      const oldest = this.#imports.findIndex(isOver)
      if (oldest >= 0) this.#imports.splice(oldest, 1)
    }
    this.#imports.push(progress)
  }
}
