/** What one link to a router has brought. Pure. */

import { type BatchPosition, CALL_PREFIX, type Command, type CommandBatch } from '@bigtap/protocol'

/** What a batch says about the catalog. */
export interface Progress {
  /** Something was missed, or may have been: the catalog must be read. */
  readonly isGap: boolean
  /** Every document up to this revision has come on this link; 0 when that cannot be said. */
  readonly revision: number
}

/** Commands that came ahead and are remembered until they are covered; beyond, the catalog is read a little more often. */
const AHEAD_MAX = 1_024

/**
 * ```
 *   nothing ─ first batch ─► adrift ─ the catalog was read up to the head ─► anchored ─ gapless batch ─► anchored, and further
 *                              ▲ └──────────── gapless batch ─► adrift           │
 *                              └─── gap: since is not upTo, or another epoch ────┘
 * ```
 * Once anchored, the catalog need not be read: commands come in the order of revisions, so what a gapless batch covers is
 * all there is up to the newest revision that it names.
 */
export class LinkProgress {
  #epoch = -1
  #upTo = 0
  #head = 0
  #isAnchored = false
  #ahead: { sequence: number; revision: number }[] = []

  /** Takes note of a batch, given the revision that the front has by now. */
  take(batch: CommandBatch, revision: number): Progress {
    const isGap = batch.epoch !== this.#epoch || batch.since !== this.#upTo
    if (batch.epoch !== this.#epoch) this.#ahead = []
    this.#isAnchored = !isGap && (this.#isAnchored || revision >= this.#head)
    this.#epoch = batch.epoch
    this.#upTo = batch.upTo
    this.#head = Math.max(batch.head, isGap ? 0 : this.#head)
    const covered = this.#cover(batch)
    return { isGap, revision: this.#isAnchored ? covered : 0 }
  }

  /** The newest revision among the commands that are covered now, and were not before. */
  #cover(batch: BatchPosition & { commands: readonly Command[] }): number {
    const isAhead = batch.since === batch.upTo
    const documents = batch.commands.filter(({ isTrial, key }) => !isTrial && !key.startsWith(CALL_PREFIX))
    if (isAhead) this.#ahead = [...this.#ahead, ...documents].slice(-AHEAD_MAX)
    const covered = [...(isAhead ? [] : documents), ...this.#ahead.filter(({ sequence }) => sequence <= batch.upTo)]
    this.#ahead = this.#ahead.filter(({ sequence }) => sequence > batch.upTo)
    return covered.reduce((newest, { revision }) => Math.max(newest, revision), 0)
  }
}
