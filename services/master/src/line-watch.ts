/** How the lines of a sale stand, for the public: read once a second. */

import { type ActivityDoc, hasLine, type LineRate, type LineView, stepLineRate } from '@bigtap/domain'
import type { Clock } from '@bigtap/kernel'
import type { Lines } from '@bigtap/store'

/** Collaborators. */
export interface LineWatchParts {
  readonly lines: Pick<Lines, 'state'>
  readonly clock: Clock
}

interface SeenLine {
  readonly at: number
  readonly rate: LineRate
  readonly view: LineView
}

const FRESH_MS = 1_000
/** Lines that are remembered; at the limit all are forgotten and measured anew. */
const SEEN_MAX = 4_096

/** The lines. */
export class LineWatch {
  readonly #parts: LineWatchParts
  readonly #seen = new Map<string, SeenLine>()

  constructor(parts: LineWatchParts) {
    this.#parts = parts
  }

  /** The line of a SKU; undefined where it has none, or nobody has joined. Rejects when Redis is away. */
  async view(activity: ActivityDoc, skuId: number): Promise<LineView | undefined> {
    if (!hasLine(activity)) return undefined
    const key = `${activity.id}:${skuId}`
    const now = this.#parts.clock.now()
    const seen = this.#seen.get(key)
    if (seen !== undefined && Math.abs(now - seen.at) < FRESH_MS) return seen.view
    const state = await this.#parts.lines.state(activity.id, skuId)
    if (state === undefined) {
      this.#seen.delete(key)
      return undefined
    }
    if (this.#seen.size >= SEEN_MAX) this.#seen.clear()
    const rate = stepLineRate(seen?.rate, state.cursor, now)
    const { cursor, joined, waiting } = state
    const view = { cursor, joined, waiting, perSecond: Math.round(rate.perSecond * 100) / 100 }
    this.#seen.set(key, { at: now, rate, view })
    return view
  }
}
