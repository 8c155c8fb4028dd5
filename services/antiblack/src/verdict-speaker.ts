/**
 * Says verdicts: first to the board, which keeps them, then at once to every router, and to topic `verdicts`.
 *
 * ```
 *   outbox ── at most 500, one call at a time ──► board ── positions ──► routers ──► limiters
 *      ▲ failed: back, tried again after a wait ◄───┘           └──────► topic (may lag, bounded)
 * ```
 * What was said twice because an answer was lost changes nothing: the same verdict at a later position.
 */

import type { AbuseVerdict } from '@bigtap/domain'
import { backoffMs, type Clock, type Logger, type Random } from '@bigtap/kernel'
import type { AbuseVerdictBatch } from '@bigtap/protocol'
import type { AbuseBoard } from '@bigtap/store'
import type { VerdictOutbox } from './verdict-outbox.ts'

/** Collaborators. */
export interface SpeakerParts {
  readonly outbox: VerdictOutbox
  readonly board: Pick<AbuseBoard, 'say'>
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** May it still be said? The board may have told of another one while it waited. */
  mayBeSaid(verdict: AbuseVerdict): boolean
  /** It is on the board. */
  onSaid(batch: AbuseVerdictBatch): void
}

/** One frame of at most some 200 KB; a script of a few ms. */
export const SAY_MAX = 500
const WAIT = { baseMs: 100, maxMs: 2_000 } as const

/** The speaker. */
export class VerdictSpeaker {
  readonly #parts: SpeakerParts
  #isSaying = false
  #failures = 0
  #notBefore = 0
  #faults = 0

  constructor(parts: SpeakerParts) {
    this.#parts = parts
  }

  /** Calls of the board that failed. */
  get faults(): number {
    return this.#faults
  }

  /** Says what waits, as far as the board takes it; rejects never. */
  async flush(): Promise<void> {
    const { clock, outbox } = this.#parts
    if (this.#isSaying || clock.monotonic() < this.#notBefore) return
    this.#isSaying = true
    while (outbox.size > 0 && (await this.#saySome()));
    this.#isSaying = false
  }

  async #saySome(): Promise<boolean> {
    const { outbox, board, clock, mayBeSaid, onSaid } = this.#parts
    const verdicts = outbox.take(SAY_MAX, clock.now()).filter((verdict) => mayBeSaid(verdict))
    if (verdicts.length === 0) return true
    const from = await board.say(verdicts).catch((error: unknown) => this.#onFault(error))
    if (from === undefined) {
      outbox.putBack(verdicts)
      return false
    }
    this.#failures = 0
    onSaid({ from, verdicts })
    return true
  }

  #onFault(error: unknown): undefined {
    const { clock, random, logger, outbox } = this.#parts
    this.#faults++
    const level = this.#failures === 0 ? 'warn' : 'debug'
    logger[level]({ error, waiting: outbox.size }, 'verdicts could not be said and wait')
    this.#notBefore = clock.monotonic() + backoffMs({ ...WAIT, attempt: this.#failures++, draw: random.next() })
  }
}
