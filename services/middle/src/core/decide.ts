import { VERDICT } from '@bigtap/domain'
import { SLOT_COUNT, slotOf } from '@bigtap/kernel'
import type { AskColumns } from '@bigtap/protocol'
import { BuyerRecords, LINE, NO_RECORD, RECORD } from './buyer-records.ts'
import { GATE_OPEN, GATE_QUEUED, SkuTable } from './sku-table.ts'

/** Decisions that are no verdict yet; the others are verdict codes. */
export const DECISION = {
  /** Write the grant of `record`, then answer. */
  grant: 32,
  /** `record` is being written or re-read: decide again when that is done. */
  wait: 33,
  /** Re-read what became of the buyer's grants, then decide again. */
  reread: 34,
  /** Take the buyer of `record` into the line, or ask for his place there, then decide again. */
  join: 35,
} as const

/** What a node is to a slot: `replaying` is its own by the slot table, but not claimed and replayed yet. */
export const SLOT = { foreign: 0, own: 1, replaying: 2 } as const

/** A buyer's grants are re-read at most this often. */
export const REREAD_EVERY_MS = 1_000
/** An ask that came this early by our clock was let through by a limiter whose clock is ahead; nodes more apart raise an alarm. */
export const EARLY_MS = 50
/** A token that ran out counts this long on: Redis' clock, not ours, says when it is dead. */
export const EXPIRY_MARGIN_MS = 500

/**
 * The decision about one ask, in this order, each step cheaper or more final than the next:
 *
 * ```
 *   slot → SKU → gate of the release → opening time → slot of the activity → purchase rule over the records → the same token again
 *        → turn, where there is a line → exhausted → lease → grant
 * ```
 * Nothing is allocated: asks come in columns, the answer is a number, its details stand in `sku` and `record`.
 * 1 M decisions/s and 0 bytes each: bench/decide.
 */
export class Decider {
  readonly skus = new SkuTable()
  readonly buyers: BuyerRecords
  /** By the slot table; before the first one every slot is replaying. Each activity claims and replays by itself. */
  readonly slots = new Uint8Array(SLOT_COUNT).fill(SLOT.replaying)
  /** The SKU and the record of the last decision, -1 where there is none. */
  sku = -1
  record = NO_RECORD
  /** Grants that wait to be written; at `pendingMax` asks are overloaded. */
  pending = 0
  /** The SKU whose lease an ask found empty last, or -1. */
  hungry = -1
  /** May a record be re-read now? The owner clears it while too many reads are under way. */
  mayReread = true
  readonly pendingMax: number
  readonly #now = new Float64Array(1)

  constructor({ recordsMax, pendingMax }: { recordsMax: number; pendingMax: number }) {
    this.buyers = new BuyerRecords(recordsMax)
    this.pendingMax = pendingMax
  }

  get now(): number {
    return this.#now[0] as number
  }

  /** The time of all decisions until the next call, ms since the epoch. */
  set now(ms: number) {
    this.#now[0] = ms
  }

  /** Decides row `row` of `asks`: a verdict code, or one of DECISION. */
  decide(asks: AskColumns, row: number): number {
    this.record = NO_RECORD
    this.sku = -1
    const uid = asks.uid[row] as number
    const quantity = asks.quantity[row] as number
    if (uid < 1 || quantity < 1) return VERDICT.ruleRefused
    const slot = slotOf(uid)
    if (this.slots[slot] !== SLOT.own) return this.slots[slot] === SLOT.foreign ? VERDICT.notOwner : VERDICT.moving
    const { skus } = this
    const sku = skus.find(asks.activityId[row] as number, asks.skuId[row] as number)
    if (sku < 0) return VERDICT.unknownSku
    this.sku = sku
    skus.asks[sku] = (skus.asks[sku] as number) + 1
    const now = this.#now[0] as number
    const gate = skus.gate[sku] as number
    if (gate !== GATE_OPEN && gate !== GATE_QUEUED) return this.#shut(gate, sku)
    if (now < (skus.opensAt[sku] as number)) return VERDICT.notStarted
    if (now >= (skus.closesAt[sku] as number)) return VERDICT.ended
    if (skus.isServing[sku] === 0) return VERDICT.unavailable
    const ofActivity = skus.slots[sku]
    if (ofActivity !== undefined && ofActivity[slot] !== SLOT.own) return VERDICT.moving
    return this.#decideByRecords(asks, row, sku)
  }

  /** After a restart the figures are not known yet, and the release is not opened: that is no sale which has not started. */
  #shut(gate: number, sku: number): number {
    const isOpenByTime = (this.#now[0] as number) >= (this.skus.opensAt[sku] as number)
    return gate === VERDICT.notStarted && isOpenByTime ? VERDICT.unavailable : gate
  }

  /** Takes the row, not the uid: a uid beyond 2^31 as an argument would be boxed, 16 bytes per decision. */
  #decideByRecords(asks: AskColumns, row: number, sku: number): number {
    const { buyers, skus } = this
    const uid = asks.uid[row] as number
    const quantity = asks.quantity[row] as number
    const now = this.#now[0] as number
    const activityId = skus.activityId[sku] as number
    let ofSku = 0
    let ofOthers = 0
    let free = NO_RECORD
    let unsettled = NO_RECORD
    let isInDoubt = false
    let isStale = false
    for (let record = buyers.first(uid); record !== NO_RECORD; record = buyers.next[record] as number) {
      const other = buyers.sku[record] as number
      if (skus.activityId[other] !== activityId) continue
      const state = buyers.state[record] as number
      if (state === RECORD.free) {
        if (other === sku) free = record
        continue
      }
      if (state === RECORD.doubt) isInDoubt = true
      if (state === RECORD.granting || buyers.isReading[record] === 1) unsettled = record
      else if (now - (buyers.readAt[record] as number) >= REREAD_EVERY_MS) isStale = true
      if (state === RECORD.outstanding && other === sku) this.record = record
      if (other === sku) ofSku += buyers.quantity[record] as number
      else ofOthers += buyers.quantity[record] as number
    }
    if (unsettled !== NO_RECORD) {
      this.record = unsettled
      return DECISION.wait
    }
    if (isInDoubt) return VERDICT.unavailable
    if (isStale && this.mayReread) return DECISION.reread
    if (this.record !== NO_RECORD) return this.#repeat(this.record)
    const verdict = ruleVerdict(skus.rule[sku] as number, ofSku, ofOthers, quantity, skus.limitPerBuyer[sku] as number)
    return verdict === VERDICT.granted ? this.#take(asks, row, sku, free) : verdict
  }

  /** The same token again, unless it ran out and Redis has not yet said what became of it. */
  #repeat(record: number): number {
    const isAlive = (this.#now[0] as number) < (this.buyers.expiresAt[record] as number)
    return isAlive ? VERDICT.granted : VERDICT.queued
  }

  #take(asks: AskColumns, row: number, sku: number, free: number): number {
    const { skus, buyers } = this
    const quantity = asks.quantity[row] as number
    if (skus.line[sku] === 1 || (skus.hasWaitingList[sku] === 1 && skus.gate[sku] === GATE_QUEUED)) {
      const turn = this.#turn(asks, row, sku, free)
      if (turn !== VERDICT.granted) return turn
    }
    if (skus.gate[sku] === GATE_QUEUED) {
      skus.wanting[sku] = (skus.wanting[sku] as number) + quantity
      return VERDICT.queued
    }
    if ((this.#now[0] as number) >= (skus.leaseUntil[sku] as number)) return VERDICT.unavailable
    skus.wanting[sku] = (skus.wanting[sku] as number) + quantity
    if ((skus.available[sku] as number) < quantity) {
      this.hungry = sku
      return VERDICT.queued
    }
    if (this.pending >= this.pendingMax) return VERDICT.overloaded
    const record = free === NO_RECORD ? buyers.add(asks.uid[row] as number, sku) : free
    if (record === NO_RECORD) return VERDICT.overloaded
    buyers.state[record] = RECORD.granting
    buyers.quantity[record] = quantity
    skus.available[sku] = (skus.available[sku] as number) - quantity
    skus.taken[sku] = (skus.taken[sku] as number) + quantity
    this.pending++
    this.record = record
    return DECISION.grant
  }

  /** Whose turn is it? `granted`: this buyer's. Who has no place yet joins; `record` becomes the one that has the place. */
  #turn(asks: AskColumns, row: number, sku: number, free: number): number {
    const { skus, buyers } = this
    const record = free === NO_RECORD ? buyers.add(asks.uid[row] as number, sku) : free
    if (record === NO_RECORD) return VERDICT.overloaded
    this.record = record
    const line = buyers.line[record]
    if (line === LINE.joining) return DECISION.wait
    const isDrawing = line === LINE.drawn && (this.#now[0] as number) < (skus.callsAt[sku] as number)
    if (line === LINE.waiting || isDrawing)
      return line === LINE.waiting && (buyers.place[record] as number) <= (skus.cursor[sku] as number)
        ? VERDICT.granted
        : VERDICT.queued
    buyers.line[record] = LINE.joining
    return DECISION.join
  }
}

/** `evaluateRule` of the domain over numbers; a test walks both. `granted` is allowed. */
export function ruleVerdict(rule: number, ofSku: number, ofOthers: number, quantity: number, limit: number): number {
  if (quantity > limit) return VERDICT.ruleRefused
  if (rule === 0) return VERDICT.granted
  if (rule === 1 && ofOthers > 0) return VERDICT.ruleRefused
  return ofSku + quantity > limit ? VERDICT.alreadyBought : VERDICT.granted
}
