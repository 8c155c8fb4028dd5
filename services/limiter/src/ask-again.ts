/** Asks that nobody decides about now are asked again, at whoever owns the buyer by then. */

import type { AskTable } from './core/ask-table.ts'
import type { Asker } from './pipeline.ts'

/** Collaborators. */
export interface AskAgainParts {
  readonly asks: AskTable
  /** The links to the owners. */
  readonly links: Asker
  /** An ask was asked often enough, or too many wait: it is answered now. */
  onGivenUp(askId: number): void
}

/** A slot that moves is claimed and replayed in about this time. */
const TICK_MS = 15

/**
 * ```
 *   no link to the owner ─┐                                ┌─ 15, 30, 45 ms ─┐
 *   not the owner, moving ├─► put off (a quarter at most) ─┤                 ├─► asked again, three times at most
 *   link lost ────────────┘                                └─ a new table ───┤
 *   under way at a node that a new table makes another's ────────────────────┘
 * ```
 * All within the ask's own deadline and under its own id, so whichever verdict comes first is the answer. An owner that is
 * dead for long costs its buyers up to 90 ms more than a refusal at once; a link that is dialed anew, a slot that moves and
 * a planned leave cost them no ask, and those are what happens every day.
 */
export class AskAgain implements Asker {
  readonly #parts: AskAgainParts
  #timer: NodeJS.Timeout | undefined

  constructor(parts: AskAgainParts) {
    this.#parts = parts
  }

  /** Asks now, or puts the ask off; false when it cannot wait either. */
  ask(askId: number, uid: number, activityId: number, skuId: number): boolean {
    return this.#parts.links.ask(askId, uid, activityId, skuId) || this.#putOff(askId)
  }

  /** The ask will be asked again, or is given up. */
  putOff(askId: number): void {
    if (!this.#putOff(askId)) this.#parts.onGivenUp(askId)
  }

  /** A link was lost, and with it the answers to those that `isLost` picks. */
  onLost(isLost: (uid: number) => boolean): void {
    this.#parts.asks.onLost(isLost, (askId) => this.#parts.onGivenUp(askId))
    this.#wait()
  }

  /** A new table: asks those that it moves at their new owner, put off or under way. */
  onMoved(isMoved: (uid: number) => boolean): void {
    this.#parts.asks.onMoved(this.#again, isMoved)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  readonly #again = (askId: number, uid: number, activityId: number, skuId: number): void => {
    if (!this.#parts.links.ask(askId, uid, activityId, skuId)) this.putOff(askId)
  }

  #putOff(askId: number): boolean {
    const isPutOff = this.#parts.asks.putOff(askId)
    this.#wait()
    return isPutOff
  }

  #wait(): void {
    if (this.#parts.asks.putOffCount > 0) this.#timer ??= setTimeout(this.#tick, TICK_MS)
  }

  readonly #tick = (): void => {
    this.#timer = undefined
    this.#parts.asks.tick(this.#again)
    this.#wait()
  }
}
