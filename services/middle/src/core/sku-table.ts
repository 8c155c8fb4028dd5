import { type PurchaseRule, type SkuState, VERDICT } from '@bigtap/domain'
import { assert } from '@bigtap/kernel'

/** SKUs that one node decides about at a time. */
export const SKUS_MAX = 4_096

/** Gate of a SKU whose units are all spoken for, though some may come back: asks are queued. Other gates are verdicts. */
export const GATE_QUEUED = 0xff
/** Gate of a SKU that is on sale. */
export const GATE_OPEN = 0

const PLACES = SKUS_MAX * 2
const EMPTY = -1

/** How the purchase rules stand in a column. */
export const RULE_CODE: Readonly<Record<PurchaseRule, number>> = {
  unlimited: 0,
  'one-product-per-activity': 1,
  'once-per-product': 2,
}

/**
 * The SKUs of a node as columns, found by (activity, SKU) without an allocation.
 *
 * ```
 *   places  [ -1 | 2 | -1 | 0 | 1 ]      open addressing; built anew when a SKU leaves
 *   columns  skuId[0..2], gate[0..2], available[0..2] …
 * ```
 * `available` is what the node may still grant from its lease; `taken` and `sent` only grow and tell which grants a
 * lease reply already knows of.
 */
export class SkuTable {
  readonly activityId = new Float64Array(SKUS_MAX)
  readonly skuId = new Float64Array(SKUS_MAX)
  readonly gate = new Uint8Array(SKUS_MAX)
  readonly isServing = new Uint8Array(SKUS_MAX)
  readonly opensAt = new Float64Array(SKUS_MAX)
  readonly closesAt = new Float64Array(SKUS_MAX)
  readonly leaseUntil = new Float64Array(SKUS_MAX)
  readonly rule = new Uint8Array(SKUS_MAX)
  readonly limitPerBuyer = new Int32Array(SKUS_MAX)
  readonly available = new Int32Array(SKUS_MAX)
  readonly taken = new Float64Array(SKUS_MAX)
  readonly sent = new Float64Array(SKUS_MAX)
  readonly asks = new Float64Array(SKUS_MAX)
  /** Units whose grant was written by this process; only grows. */
  readonly granted = new Float64Array(SKUS_MAX)
  readonly wanting = new Int32Array(SKUS_MAX)
  readonly ahead = new Int32Array(SKUS_MAX)
  readonly etaMs = new Int32Array(SKUS_MAX)
  readonly retryAfterMs = new Int32Array(SKUS_MAX)
  /**
   * Asks answered as queued since the last look at the crowd, how long they were told to stay away in all, when that look
   * was, and how many were taken to wait. `returnAt` is when the last one who was told may ask again.
   */
  readonly queued = new Int32Array(SKUS_MAX)
  readonly toldMs = new Float64Array(SKUS_MAX)
  readonly lookedAt = new Float64Array(SKUS_MAX)
  readonly waiting = new Float64Array(SKUS_MAX)
  readonly returnAt = new Float64Array(SKUS_MAX)
  readonly returnsPerSecond = new Float64Array(SKUS_MAX)
  /** Is there a line, so that only those are granted whose turn it is? Which is up to place `cursor`. */
  readonly line = new Uint8Array(SKUS_MAX)
  readonly cursor = new Float64Array(SKUS_MAX)
  /** Does a line begin when all units are spoken for? */
  readonly hasWaitingList = new Uint8Array(SKUS_MAX)
  /** Before it nobody is called, ms; 0: from the opening on. */
  readonly callsAt = new Float64Array(SKUS_MAX)
  /** How often all who wait for one SKU may ask this node, per second. */
  queuedPerSecond = 1_000
  /** What the node is to each slot in the SKU's activity (SLOT); undefined: the slot table alone decides. */
  readonly slots: (Uint8Array | undefined)[] = []
  /** Not read by decide. */
  readonly state: SkuState[] = []
  readonly #places = new Int16Array(PLACES).fill(EMPTY)
  readonly #isTaken = new Uint8Array(SKUS_MAX)
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Where a SKU stands, or -1. */
  find(activityId: number, skuId: number): number {
    for (let place = placeOf(activityId, skuId); ; place = (place + 1) & (PLACES - 1)) {
      const sku = this.#places[place] as number
      if (sku === EMPTY) return EMPTY
      if (this.skuId[sku] === skuId && this.activityId[sku] === activityId) return sku
    }
  }

  /** Takes a place for a SKU that is not there yet; -1 when the table is full. */
  add(activityId: number, skuId: number): number {
    assert(this.find(activityId, skuId) === EMPTY, `sku ${skuId} of activity ${activityId} is there already`)
    const sku = this.#isTaken.indexOf(0)
    if (sku < 0) return EMPTY
    this.#isTaken[sku] = 1
    this.#size++
    this.activityId[sku] = activityId
    this.skuId[sku] = skuId
    this.#blank(sku)
    this.#insert(sku)
    return sku
  }

  /** Forgets a SKU. Records that name it must be gone. */
  remove(sku: number): void {
    this.#isTaken[sku] = 0
    this.#size--
    this.#places.fill(EMPTY)
    for (let other = 0; other < SKUS_MAX; other++) if (this.#isTaken[other] === 1) this.#insert(other)
  }

  #insert(sku: number): void {
    let place = placeOf(this.activityId[sku] as number, this.skuId[sku] as number)
    while (this.#places[place] !== EMPTY) place = (place + 1) & (PLACES - 1)
    this.#places[place] = sku
  }

  #blank(sku: number): void {
    this.gate[sku] = VERDICT.notStarted
    this.state[sku] = 'idle'
    this.slots[sku] = undefined
    const columns = [this.isServing, this.opensAt, this.closesAt, this.leaseUntil, this.rule, this.limitPerBuyer]
    const counts = [this.available, this.taken, this.sent, this.asks, this.granted, this.wanting]
    const crowd = [
      this.queued,
      this.toldMs,
      this.lookedAt,
      this.waiting,
      this.returnAt,
      this.returnsPerSecond,
      this.retryAfterMs,
    ]
    const lines = [this.line, this.cursor, this.hasWaitingList, this.callsAt]
    for (const column of [...columns, ...counts, ...crowd, ...lines]) column[sku] = 0
  }
}

function placeOf(activityId: number, skuId: number): number {
  const mixed = Math.imul(activityId ^ Math.imul(skuId, 0x9e3779b1), 0x85ebca6b)
  return (mixed ^ (mixed >>> 15)) & (PLACES - 1)
}
