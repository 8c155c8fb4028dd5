/** The board of verdicts about abuse: those in force, and a log of what was said, which limiters follow by position. */

import type { AbuseVerdict } from '@bigtap/domain'
import type { Store } from './connection.ts'

/** Verdicts by position; the first stands at `from`. */
export interface SaidVerdicts {
  readonly from: number
  readonly verdicts: readonly AbuseVerdict[]
}

/** Verdicts in force at a time; one more is refused. */
export const ABUSE_VERDICTS_MAX = 1_000_000
/** Entries that the log keeps; who is further behind reads all that are in force. */
export const ABUSE_LOG_MAX = 100_000

/** The board in Redis (`bt:abuse:*`). Faults: STORE_FAILED. */
export class AbuseBoard {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Says verdicts: each replaces the one before about its subject. Returns the position of the first. */
  async say(_verdicts: readonly AbuseVerdict[]): Promise<number> {
    throw new Error(`not written yet ${this.#store}`)
  }

  /** Position behind the newest entry of the log; 0: the board is empty, or was emptied. */
  async head(): Promise<number> {
    throw new Error('not written yet')
  }

  /** Entries from a position on, at most `max`; undefined when the log does not reach back so far. */
  async since(_position: number, _max: number): Promise<SaidVerdicts | undefined> {
    throw new Error('not written yet')
  }

  /** All verdicts in force, in pages. */
  active(): AsyncIterable<readonly AbuseVerdict[]> {
    throw new Error('not written yet')
  }

  /** The verdict in force about a subject (`uid:7`). */
  async get(_subject: string): Promise<AbuseVerdict | undefined> {
    throw new Error('not written yet')
  }
}
