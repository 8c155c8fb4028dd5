/** What waits for one Middle node, and how many are under way there. */

import { COHORT_COUNT, RANK_COUNT } from '@bigtap/domain'
import { ShedQueue } from '@bigtap/kernel'
import { FIRST_WINDOW, moveWindow, type WindowState } from './send-window.ts'
import { moveThreshold, openState, type ShedState } from './shed-controller.ts'

/** A better tier was shed: for so long no worse one is let in, ms. So no second sees a worse one let in after a better one fell. */
export const NO_OVERTAKING_MS = 1_000
/** What Middle says of its own threshold is believed for so long, ms; it rides on every frame of verdicts. */
export const MIDDLE_SAYS_MS = 500
const TIERS = RANK_COUNT / COHORT_COUNT

/** The lane of a node. Times are of a clock that never goes back. */
export class ShedLane {
  readonly queue: ShedQueue
  inFlight = 0
  /** Since the last look. */
  readonly demand = new Float64Array(RANK_COUNT)
  reached = 0
  served = 0
  waitMs = 0
  roundMs = 0
  rounds = 0
  wasFull = false
  wasEmpty = true
  #state: ShedState = openState()
  #window: WindowState = FIRST_WINDOW
  /** Asks that were given up here and may still keep the node busy; half as many each look. */
  #ghosts = 0
  #saidFrom = 0
  #saidAt = Number.NEGATIVE_INFINITY
  readonly #shedAt = new Float64Array(TIERS).fill(Number.NEGATIVE_INFINITY)

  constructor(places: number) {
    this.queue = new ShedQueue({ capacity: places, ranks: RANK_COUNT, places })
  }

  get window(): number {
    return this.#window.size
  }

  /** Is there room under way? */
  get hasRoom(): boolean {
    return this.inFlight + this.#ghosts < this.#window.size
  }

  /** What stands at or above this level is shed now: the least of the controller's, Middle's, and what nobody may overtake. */
  thresholdAt(now: number): number {
    let threshold = this.#state.threshold
    if (this.#saidFrom > 0 && now - this.#saidAt < MIDDLE_SAYS_MS) threshold = Math.min(threshold, this.#saidFrom)
    for (let tier = 0; tier < TIERS && (tier + 1) * COHORT_COUNT < threshold; tier++) {
      if (now - (this.#shedAt[tier] as number) < NO_OVERTAKING_MS) return (tier + 1) * COHORT_COUNT
    }
    return threshold
  }

  /** One was shed. */
  noteShed(level: number, now: number): void {
    this.#shedAt[Math.floor(level / COHORT_COUNT)] = now
  }

  /** An ask that was sent had no answer in its time: those that wait at the node are too many, whatever is counted here. */
  noteLost(askMsMax: number): void {
    this.roundMs += askMsMax
    this.rounds++
    this.wasFull = true
    this.#ghosts++
  }

  /** Middle's own threshold, a rank; 0 for none. */
  onShedFrom(rank: number, now: number): void {
    this.#saidFrom = rank
    this.#saidAt = now
  }

  /** One look: moves the threshold and the window by what was seen since the one before. `oldestMs`: see Shedding. */
  look(elapsedMs: number, loopMs: number, oldestMs: number): void {
    const { demand, reached, served } = this
    const waitMs = Math.max(this.waitMs, oldestMs)
    const isStanding = !this.wasEmpty
    this.#state = moveThreshold(this.#state, { elapsedMs, demand, reached, served, waitMs, isStanding, loopMs })
    const roundMs = this.rounds === 0 ? 0 : this.roundMs / this.rounds
    const servedPerMs = served / Math.max(1, elapsedMs)
    this.#window = moveWindow(this.#window, { isFull: this.wasFull, roundMs, servedPerMs })
    this.#ghosts >>= 1
    demand.fill(0)
    this.reached = 0
    this.served = 0
    this.waitMs = 0
    this.roundMs = 0
    this.rounds = 0
    this.wasFull = !this.hasRoom
    this.wasEmpty = this.queue.size === 0
  }
}
