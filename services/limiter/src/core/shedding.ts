/** Who waits, who is sent and who is shed, between the grade and Middle: the better first. */

import { COHORT_COUNT, RANK_COUNT, VERDICT } from '@bigtap/domain'
import { NO_SLOT, SlotTable } from '@bigtap/kernel'
import type { AskTable } from './ask-table.ts'
import { LOOK_EVERY_MS } from './shed-controller.ts'
import { ShedLane } from './shed-lane.ts'

/** Middle nodes that have a lane of their own; further ones share. A lane takes 164 KB at 16,384 asks. */
export const LANES_MAX = 64
/** An ask that has less of its time left when it leaves the queue would be answered too late. */
const LEFT_MS_MIN = 5
/** From tier 3 on, who has waited for longer than this is shed: a place under way is worth more to a fresher one. */
const WORSE_WAIT_MS_MAX = 10
const WORSE_LEVEL = 3 * COHORT_COUNT
/** The clock of a tick may be late by this much without meaning anything. */
const TICK_SLACK_MS = 2

/** Collaborators. Times are of a clock that never goes back. */
export interface SheddingParts {
  readonly asks: AskTable
  /** The lane of the node that owns a buyer, or -1 when there is none or no link to it. */
  laneOf(uid: number): number
  /** Sends an ask to its owner; false when there is no link. */
  send(askId: number, uid: number, activityId: number, skuId: number): boolean
  /** An ask that waited is shed: it is to be answered. */
  onShed(askId: number): void
  /** An ask that waited found no link when its turn came. */
  onNoLink(askId: number): void
}

const ANSWERED_MS_MAX = 200

/** What an operator sees of it. */
export interface SheddingView {
  readonly threshold: number
  readonly waiting: number
  readonly inFlight: number
  readonly waitMs: number
  readonly loopMs: number
  readonly shed: readonly number[]
  readonly letIn: readonly number[]
  readonly answeredMs: readonly number[]
}

const NOWHERE = 0
const WAITING = 1
const SENT = 2
const ANSWERED = 3

/**
 * ```
 *             level ≥ threshold ─► shed at once, before its ticket is opened
 *   grade ─► lane of the owner ─┬─ room under way, nobody waits ─► sent
 *                               └─ queue by rank ── room ─► best first ─┬─ level < threshold, time left ─► sent
 *                                     │ full: the worst falls           └─ else shed
 * ```
 *
 * Invariant: nobody is let in (sent) within a second after somebody of a better tier was shed in the same lane.
 * One lane per Middle node: what one node cannot take is no reason to refuse the buyers of another.
 */
export class Shedding {
  /** Asks that were shed, by tier. */
  readonly shed = new Float64Array(RANK_COUNT / COHORT_COUNT)
  /** Asks that were sent to Middle, by tier. */
  readonly letIn = new Float64Array(RANK_COUNT / COHORT_COUNT)
  /** Asks that Middle answered, by the whole ms since they were graded; the last place holds all that took longer. */
  readonly answeredMs = new Float64Array(ANSWERED_MS_MAX + 1)
  loopMs = 0
  readonly #parts: SheddingParts
  readonly #lanes: (ShedLane | undefined)[] = []
  readonly #state: Uint8Array
  readonly #lane: Int16Array
  readonly #level: Float64Array
  readonly #since: Float64Array
  readonly #gradedAt: Float64Array
  readonly #handle: Int32Array
  readonly #tickMs: number
  #now = 0
  #tickedAt = 0
  #lookedAt = 0
  #loopMs = 0
  #isPumping = false

  /** `tickMs`: how often `tick` is called. */
  constructor({ tickMs }: { tickMs: number }, parts: SheddingParts) {
    this.#tickMs = tickMs
    this.#parts = parts
    const { capacity } = parts.asks
    this.#state = new Uint8Array(capacity)
    this.#lane = new Int16Array(capacity).fill(NO_SLOT)
    this.#level = new Float64Array(capacity)
    this.#since = new Float64Array(capacity)
    this.#gradedAt = new Float64Array(capacity)
    this.#handle = new Int32Array(capacity).fill(NO_SLOT)
    parts.asks.onLeave = (slot) => this.#onLeave(slot)
  }

  /** Asks that wait here. */
  get waiting(): number {
    return this.#lanes.reduce((sum, lane) => sum + (lane?.queue.size ?? 0), 0)
  }

  /** Asks that are under way at Middle. */
  get inFlight(): number {
    return this.#lanes.reduce((sum, lane) => sum + (lane?.inFlight ?? 0), 0)
  }

  /** The lowest threshold of all nodes. */
  get threshold(): number {
    return this.#lanes.reduce((least, lane) => Math.min(least, lane?.thresholdAt(this.#now) ?? RANK_COUNT), RANK_COUNT)
  }

  /** The longest that anybody waits now, ms. */
  get waitMs(): number {
    return this.#lanes.reduce((longest, lane) => Math.max(longest, lane === undefined ? 0 : this.#oldestMs(lane)), 0)
  }

  /** All of it as plain values. */
  view(): SheddingView {
    const { threshold, waiting, inFlight, waitMs, loopMs } = this
    const counts = { shed: [...this.shed], letIn: [...this.letIn], answeredMs: [...this.answeredMs] }
    return { threshold, waiting, inFlight, waitMs, loopMs, ...counts }
  }

  /** Counts a graded request, and tells whether it is shed. `level`: rank and place within the cohort, 0 to below 96. */
  isShed(uid: number, level: number, now: number): boolean {
    this.#now = now
    const lane = this.#laneOf(uid)
    if (lane === undefined) return false
    const rank = Math.floor(level)
    lane.demand[rank] = (lane.demand[rank] as number) + 1
    if (level < lane.thresholdAt(now)) return false
    this.#noteShed(lane, level)
    return true
  }

  /** Would an ask of this level be shed now? For calls that ask nothing of Middle; nothing is counted. */
  wouldShed(uid: number, level: number, now: number): boolean {
    const lane = this.#laneOf(uid)
    return lane !== undefined && level >= lane.thresholdAt(now)
  }

  /** Says how good an ask is; before it is asked. */
  grade(askId: number, level: number): void {
    const slot = SlotTable.indexOf(askId)
    this.#level[slot] = level
    this.#handle[slot] = askId
    this.#gradedAt[slot] = this.#now
  }

  /** Sends an ask or lets it wait; false when there is no way to its owner. */
  ask(askId: number, uid: number, activityId: number, skuId: number): boolean {
    const slot = SlotTable.indexOf(askId)
    this.#leave(slot)
    const index = this.#parts.laneOf(uid)
    const lane = this.#laneAt(index)
    if (lane === undefined) return false
    lane.reached++
    this.#lane[slot] = index
    this.#since[slot] = this.#now
    if (lane.hasRoom && lane.queue.size === 0) return this.#send(lane, slot, uid, activityId, skuId)
    lane.wasFull = true
    this.#state[slot] = WAITING
    const fallen = lane.queue.push(slot, Math.floor(this.#level[slot] as number))
    if (fallen !== NO_SLOT) this.#drop(lane, fallen)
    return true
  }

  /** The table of asks is full: sheds one that waits and is worse, else it is the newcomer who falls (false). */
  makeRoom(uid: number, level: number): boolean {
    let worstLane: ShedLane | undefined
    for (const lane of this.#lanes) {
      if (lane !== undefined && lane.queue.worst > (worstLane?.queue.worst ?? Math.floor(level))) worstLane = lane
    }
    if (worstLane === undefined) {
      const own = this.#laneOf(uid)
      if (own !== undefined) this.#noteShed(own, level)
      return false
    }
    this.#drop(worstLane, worstLane.queue.pop())
    return true
  }

  /** Middle answers an ask with one of the codes of VERDICT. A grant waits for Redis too, so its time says nothing. */
  onVerdict(askId: number, code: number, now: number): void {
    this.#now = now
    const slot = SlotTable.indexOf(askId)
    const lane = this.#lanes[this.#lane[slot] ?? NO_SLOT]
    if (lane === undefined || this.#state[slot] !== SENT || this.#handle[slot] !== askId) return
    this.#state[slot] = ANSWERED
    lane.inFlight--
    if (code === VERDICT.overloaded) this.#noteShed(lane, this.#level[slot] as number)
    else {
      lane.served++
      const ms = Math.min(ANSWERED_MS_MAX, Math.floor(now - (this.#gradedAt[slot] as number)))
      this.answeredMs[ms] = (this.answeredMs[ms] as number) + 1
    }
    if (code === VERDICT.granted) return
    lane.roundMs += now - (this.#since[slot] as number)
    lane.rounds++
  }

  /** Middle's own threshold of a node, a rank; 0 for none. */
  onShedFrom(lane: number, rank: number, now: number): void {
    this.#laneAt(lane)?.onShedFrom(rank, now)
  }

  /** Called every few ms: looks, moves the thresholds, sheds those who wait beyond them. */
  tick(now: number): void {
    this.#now = now
    const lateMs = this.#tickedAt === 0 ? 0 : Math.max(0, now - this.#tickedAt - this.#tickMs - TICK_SLACK_MS)
    this.#tickedAt = now
    this.#loopMs = Math.max(this.#loopMs, lateMs)
    if (this.#lookedAt === 0) this.#lookedAt = now
    const elapsedMs = now - this.#lookedAt
    if (elapsedMs < LOOK_EVERY_MS) return
    this.#lookedAt = now
    this.loopMs = this.#loopMs
    this.#loopMs = 0
    for (const lane of this.#lanes) if (lane !== undefined) this.#look(lane, elapsedMs)
  }

  #look(lane: ShedLane, elapsedMs: number): void {
    lane.look(elapsedMs, this.loopMs, this.#oldestMs(lane))
    const threshold = lane.thresholdAt(this.#now)
    while (lane.queue.worst >= threshold) this.#drop(lane, lane.queue.pop())
    this.#pump(lane)
  }

  /** Sends those who wait, the best first, as long as there is room. */
  #pump(lane: ShedLane): void {
    if (this.#isPumping) return
    this.#isPumping = true
    while (lane.hasRoom) {
      const slot = lane.queue.shift()
      if (slot === NO_SLOT) break
      this.#sendNext(lane, slot)
    }
    if (lane.queue.size === 0) lane.wasEmpty = true
    this.#isPumping = false
  }

  #sendNext(lane: ShedLane, slot: number): void {
    const { asks, onNoLink } = this.#parts
    const askId = this.#handle[slot] as number
    const level = this.#level[slot] as number
    const waitMs = this.#now - (this.#since[slot] as number)
    const isStale = level >= WORSE_LEVEL && waitMs > WORSE_WAIT_MS_MAX
    const isLate = asks.deadlineOf(askId) - this.#now < LEFT_MS_MIN
    if (isStale || isLate || level >= lane.thresholdAt(this.#now)) {
      this.#drop(lane, slot)
      return
    }
    if (waitMs > lane.waitMs) lane.waitMs = waitMs
    this.#state[slot] = NOWHERE
    if (!this.#send(lane, slot, asks.uidOf(askId), asks.activityOf(askId), asks.skuOf(askId))) onNoLink(askId)
  }

  #send(lane: ShedLane, slot: number, uid: number, activityId: number, skuId: number): boolean {
    if (!this.#parts.send(this.#handle[slot] as number, uid, activityId, skuId)) return false
    this.#state[slot] = SENT
    this.#since[slot] = this.#now
    lane.inFlight++
    const tier = Math.floor((this.#level[slot] as number) / COHORT_COUNT)
    this.letIn[tier] = (this.letIn[tier] as number) + 1
    if (!lane.hasRoom) lane.wasFull = true
    return true
  }

  /** Sheds one that is out of the queue already. */
  #drop(lane: ShedLane, slot: number): void {
    this.#state[slot] = NOWHERE
    this.#noteShed(lane, this.#level[slot] as number)
    this.#parts.onShed(this.#handle[slot] as number)
  }

  #noteShed(lane: ShedLane, level: number): void {
    const tier = Math.floor(level / COHORT_COUNT)
    this.shed[tier] = (this.shed[tier] as number) + 1
    lane.noteShed(level, this.#now)
  }

  /** An ask is answered, or goes elsewhere. */
  #leave(slot: number): ShedLane | undefined {
    const lane = this.#lanes[this.#lane[slot] as number]
    const state = this.#state[slot]
    this.#state[slot] = NOWHERE
    this.#lane[slot] = NO_SLOT
    if (lane === undefined) return undefined
    if (state === SENT) lane.inFlight--
    else if (state === WAITING) lane.queue.remove(slot)
    return lane
  }

  #onLeave(slot: number): void {
    const state = this.#state[slot]
    const lane = this.#leave(slot)
    if (lane === undefined) return
    // Its time ran out: while it waited, that is as if it had been shed; on the way, the way is too long.
    if (state === WAITING) lane.noteShed(this.#level[slot] as number, this.#now)
    else if (state === SENT) lane.noteLost(this.#parts.asks.askMsMax)
    this.#pump(lane)
  }

  /** In the worst rank that waits, the first has waited longest: those behind it wait because of the better ones. */
  #oldestMs({ queue }: ShedLane): number {
    const slot = queue.oldestOf(queue.worst)
    return slot === NO_SLOT ? 0 : this.#now - (this.#since[slot] as number)
  }

  #laneOf(uid: number): ShedLane | undefined {
    return this.#laneAt(this.#parts.laneOf(uid))
  }

  #laneAt(index: number): ShedLane | undefined {
    if (index < 0 || index >= LANES_MAX) return undefined
    const known = this.#lanes[index]
    if (known !== undefined) return known
    const made = new ShedLane(this.#parts.asks.capacity)
    this.#lanes[index] = made
    return made
  }
}
