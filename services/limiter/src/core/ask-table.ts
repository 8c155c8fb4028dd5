/** The bounded queue of asks that wait for Middle: fixed slots with a generation and a deadline. */

import { hashUid, NO_SLOT, SlotTable } from '@bigtap/kernel'
import type { Reply } from './reply.ts'

/** Somebody who waits for a reply; exactly one is given. */
export interface Waiting {
  reply(reply: Reply): void
}

/** Sizes and times of the table. */
export interface AskTableSettings {
  readonly capacity: number
  readonly askMsMax: number
}

/** Is told which ask to ask again. */
export type AskVisitor = (handle: number, uid: number, activityId: number, skuId: number) => void

/** The table is full: 503. */
export const FULL = -1
/** The same buyer's ask for the same product is under way: this one shares its answer. */
export const JOINED = -2
/** Too many share already: 429. */
export const CROWDED = -3

/** An ask is asked again this often, after 1, 2 and 3 ticks of 15 ms: a slot that moves is served again well within them. */
export const ASK_AGAIN_MAX = 3
/** At most a quarter of the table waits to be asked again: without Middle the rest is refused at once. */
const PUT_OFF_SHARE = 4

/** A person clicks twice or thrice; who clicks more often waits. */
const FOLLOWERS_MAX = 3
const NONE = -1

/**
 * Columns beside a SlotTable; the handle is the ask's id on the wire, so that a late verdict is counted, never mistaken.
 *
 *   bucket of hash(uid, sku) ─► slot ─next─► slot          one ask per uid and product in flight
 *                                └─follower─► slot ─► …    repeated clicks: they wait for the same verdict
 *
 * An ask that nobody decides about now is put off and asked again under the same id; the first verdict wins.
 *
 * 0 bytes per ask: ask-table.test.ts.
 */
export class AskTable {
  readonly capacity: number
  readonly askMsMax: number
  late = 0
  expired = 0
  /** Asks that wait to be asked again, now; and how often one was, in all. */
  putOffCount = 0
  askedAgain = 0
  /** Is told the slot of each ask that was answered, followers not. */
  onLeave: (slot: number) => void = () => undefined
  readonly #slots: SlotTable
  readonly #handles: Int32Array
  readonly #uid: Float64Array
  readonly #activityId: Uint32Array
  readonly #skuId: Uint32Array
  readonly #deadline: Float64Array
  readonly #waiting: (Waiting | undefined)[]
  readonly #buckets: Int32Array
  readonly #next: Int32Array
  readonly #follower: Int32Array
  readonly #again: Uint8Array
  /** Ticks until an ask that was put off is asked again; 0 for one that is under way. */
  readonly #ticks: Uint8Array
  #highest = 0

  constructor({ capacity, askMsMax }: AskTableSettings) {
    this.capacity = capacity
    this.askMsMax = askMsMax
    this.#slots = new SlotTable(capacity)
    this.#handles = new Int32Array(capacity).fill(NONE)
    this.#uid = new Float64Array(capacity)
    this.#activityId = new Uint32Array(capacity)
    this.#skuId = new Uint32Array(capacity)
    this.#deadline = new Float64Array(capacity)
    this.#waiting = new Array<Waiting | undefined>(capacity).fill(undefined)
    this.#buckets = new Int32Array(2 ** Math.ceil(Math.log2(capacity * 2))).fill(NONE)
    this.#next = new Int32Array(capacity).fill(NONE)
    this.#follower = new Int32Array(capacity).fill(NONE)
    this.#again = new Uint8Array(capacity)
    this.#ticks = new Uint8Array(capacity)
  }

  get used(): number {
    return this.#slots.used
  }

  /** Opens an ask and returns its id (>= 0), or FULL, JOINED, CROWDED. Only after an id or JOINED is `waiting` answered. */
  open(uid: number, activityId: number, skuId: number, now: number, waiting: Waiting): number {
    const bucket = this.#bucketOf(uid, skuId)
    const leader = this.#find(bucket, uid, activityId, skuId)
    if (leader !== NONE) return this.#join(leader, waiting)
    const handle = this.#slots.acquire()
    if (handle === NO_SLOT) return FULL
    const slot = SlotTable.indexOf(handle)
    this.#handles[slot] = handle
    this.#uid[slot] = uid
    this.#activityId[slot] = activityId
    this.#skuId[slot] = skuId
    this.#deadline[slot] = now + this.askMsMax
    this.#waiting[slot] = waiting
    this.#again[slot] = 0
    this.#next[slot] = this.#buckets[bucket] ?? NONE
    this.#buckets[bucket] = slot
    if (slot >= this.#highest) this.#highest = slot + 1
    return handle
  }

  /** The activity of a live ask, or 0. */
  activityOf(handle: number): number {
    return this.#slots.isLive(handle) ? (this.#activityId[SlotTable.indexOf(handle)] ?? 0) : 0
  }

  /** The buyer of a live ask, or 0. */
  uidOf(handle: number): number {
    return this.#isAsk(handle) ? (this.#uid[SlotTable.indexOf(handle)] ?? 0) : 0
  }

  /** The product of a live ask, or 0. */
  skuOf(handle: number): number {
    return this.#isAsk(handle) ? (this.#skuId[SlotTable.indexOf(handle)] ?? 0) : 0
  }

  /** When a live ask is given up, or 0. */
  deadlineOf(handle: number): number {
    return this.#isAsk(handle) ? (this.#deadline[SlotTable.indexOf(handle)] ?? 0) : 0
  }

  /** Puts an ask off until `askAgain`; false when it was asked often enough, or too many wait so. */
  putOff(handle: number): boolean {
    const slot = SlotTable.indexOf(handle)
    if (!this.#isAsk(handle)) return false
    if ((this.#ticks[slot] ?? 0) > 0) return true
    const times = this.#again[slot] ?? 0
    if (times >= ASK_AGAIN_MAX || this.putOffCount * PUT_OFF_SHARE >= this.capacity) return false
    this.#ticks[slot] = times + 1
    this.putOffCount++
    return true
  }

  /** One tick: calls `ask` for each ask that was put off until now. */
  tick(ask: AskVisitor): void {
    for (let slot = this.#highest - 1; slot >= 0 && this.putOffCount > 0; slot--) {
      const ticks = this.#ticks[slot] ?? 0
      if (ticks > 1) this.#ticks[slot] = ticks - 1
      else if (ticks === 1) this.#askAgain(slot, ask)
    }
  }

  /** A link was lost: puts off the asks that were under way on it; `giveUp` gets those that cannot be. */
  onLost(isLost: (uid: number) => boolean, giveUp: (handle: number) => void): void {
    for (let slot = this.#highest - 1; slot >= 0; slot--) {
      const handle = this.#handles[slot] ?? NONE
      if (handle !== NONE && isLost(this.#uid[slot] ?? 0) && !this.putOff(handle)) giveUp(handle)
    }
  }

  /**
   * Other owners: calls `ask` for each ask of a buyer that `isMoved` picks. One that was asked often enough is left to the
   * verdict that may still come, or to its deadline.
   */
  onMoved(ask: AskVisitor, isMoved: (uid: number) => boolean): void {
    for (let slot = this.#highest - 1; slot >= 0; slot--) {
      const isSpent = this.#handles[slot] === NONE || (this.#again[slot] ?? 0) >= ASK_AGAIN_MAX
      if (!isSpent && isMoved(this.#uid[slot] ?? 0)) this.#askAgain(slot, ask)
    }
  }

  /** Answers an ask and all that share it; false when it is not under way any more. */
  settle(handle: number, reply: Reply): boolean {
    const slot = SlotTable.indexOf(handle)
    if (!this.#isAsk(handle)) {
      this.late++
      return false
    }
    this.#takeUp(slot)
    this.#unlink(slot)
    this.onLeave(slot)
    for (let at = slot; at !== NONE; ) {
      const following = this.#follower[at] ?? NONE
      this.#answer(at, reply)
      at = following
    }
    return true
  }

  /** Answers what is past its deadline. A pass over 16,384 slots takes about 10 us. */
  sweep(now: number, reply: () => Reply): void {
    for (let slot = this.#highest - 1; slot >= 0; slot--) {
      const handle = this.#handles[slot] ?? NONE
      if (handle === NONE || now < (this.#deadline[slot] ?? 0)) continue
      this.expired++
      this.settle(handle, reply())
    }
    if (this.used === 0) this.#highest = 0
  }

  #isAsk(handle: number): boolean {
    return this.#slots.isLive(handle) && this.#handles[SlotTable.indexOf(handle)] === handle
  }

  #askAgain(slot: number, ask: AskVisitor): void {
    this.#takeUp(slot)
    this.#again[slot] = (this.#again[slot] ?? 0) + 1
    this.askedAgain++
    ask(this.#handles[slot] ?? NONE, this.#uid[slot] ?? 0, this.#activityId[slot] ?? 0, this.#skuId[slot] ?? 0)
  }

  #takeUp(slot: number): void {
    if ((this.#ticks[slot] ?? 0) > 0) this.putOffCount--
    this.#ticks[slot] = 0
  }

  #join(leader: number, waiting: Waiting): number {
    let last = leader
    for (let count = 0; this.#follower[last] !== NONE; count++) {
      if (count + 1 >= FOLLOWERS_MAX) return CROWDED
      last = this.#follower[last] ?? NONE
    }
    const handle = this.#slots.acquire()
    if (handle === NO_SLOT) return FULL
    const slot = SlotTable.indexOf(handle)
    this.#waiting[slot] = waiting
    this.#follower[last] = slot
    this.#uid[slot] = handle // a follower's own handle, kept where a leader keeps its uid
    return JOINED
  }

  #answer(slot: number, reply: Reply): void {
    const waiting = this.#waiting[slot]
    const isLeader = this.#handles[slot] !== NONE
    this.#slots.release(isLeader ? (this.#handles[slot] ?? NONE) : (this.#uid[slot] ?? NONE))
    this.#waiting[slot] = undefined
    this.#handles[slot] = NONE
    this.#follower[slot] = NONE
    waiting?.reply(reply)
  }

  #bucketOf(uid: number, skuId: number): number {
    return (hashUid(uid) ^ Math.imul(skuId, 0x9e3779b1)) & (this.#buckets.length - 1)
  }

  #find(bucket: number, uid: number, activityId: number, skuId: number): number {
    let slot = this.#buckets[bucket] ?? NONE
    while (slot !== NONE) {
      if (this.#uid[slot] === uid && this.#skuId[slot] === skuId && this.#activityId[slot] === activityId) return slot
      slot = this.#next[slot] ?? NONE
    }
    return NONE
  }

  #unlink(slot: number): void {
    const bucket = this.#bucketOf(this.#uid[slot] ?? 0, this.#skuId[slot] ?? 0)
    if (this.#buckets[bucket] === slot) {
      this.#buckets[bucket] = this.#next[slot] ?? NONE
      return
    }
    let before = this.#buckets[bucket] ?? NONE
    while (before !== NONE && this.#next[before] !== slot) before = this.#next[before] ?? NONE
    if (before !== NONE) this.#next[before] = this.#next[slot] ?? NONE
  }
}
