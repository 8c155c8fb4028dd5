/** A Middle node of the scale mode: its own decider and keeper, asked row by row. */

import type { ActivityDoc, SkuDoc } from '@bigtap/domain'
import { type Clock, nullLogger, type Random } from '@bigtap/kernel'
import { ActivityKeeper } from '@bigtap/middle/activity-keeper'
import { DECISION, Decider, SLOT } from '@bigtap/middle/core/decide'
import type { WriteResult } from '@bigtap/middle/core/grants'
import { AskColumns } from '@bigtap/protocol'
import type { GrantLog } from '@bigtap/store'

/** What a node is given. `onGrant` is called when a grant is written, `onNothing` when it could not be. */
export interface ScaleNodeParts {
  readonly log: GrantLog
  readonly clock: Clock
  readonly random: Random
  onGrant(uid: number, skuId: number, tokenId: string, expiresAt: number): void
  onNothing(uid: number): void
}

const LIMITS = { recordsMax: 65_536, pendingMax: 8_192 }

/** One node. */
export class ScaleNode {
  grants = 0
  asks = 0
  readonly #decider = new Decider(LIMITS)
  readonly #keeper: ActivityKeeper
  readonly #asks = new AskColumns(1)
  readonly #parts: ScaleNodeParts
  readonly #activityId: number

  constructor(nodeId: string, sale: { activity: ActivityDoc; skus: readonly SkuDoc[] }, parts: ScaleNodeParts) {
    this.#parts = parts
    this.#activityId = sale.activity.id
    const onSettled = (record: number, result: WriteResult) => this.#onSettled(record, result)
    this.#keeper = new ActivityKeeper(sale.activity, {
      ...parts,
      nodeId,
      decider: this.#decider,
      logger: nullLogger,
      onSettled,
      onJoined: () => undefined,
    })
    const rows = sale.skus.map((doc) => ({ sku: this.#decider.skus.add(doc.activityId, doc.id), doc }))
    this.#keeper.configure(sale.activity, rows)
  }

  /** Takes its slots of the table. */
  own(slots: readonly number[], nodes: number): void {
    this.#decider.slots.fill(SLOT.foreign)
    for (const slot of slots) this.#decider.slots[slot] = SLOT.own
    this.#keeper.nodes = nodes
    this.#keeper.hasSlots = slots.length > 0
    this.#keeper.applySlots(1)
  }

  get isServing(): boolean {
    return this.#keeper.isServing
  }

  tick(): void {
    this.#decider.now = this.#parts.clock.now()
    this.#keeper.tick()
  }

  /** Decides: when to come back in ms, or 0 when the answer is final or a grant is being written. */
  ask(uid: number, skuId: number): number {
    const decider = this.#decider
    this.asks++
    this.#asks.clear()
    this.#asks.push(1, uid, this.#activityId, skuId, 1)
    decider.mayReread = false
    const decision = decider.decide(this.#asks, 0)
    if (decider.hungry >= 0) this.#feed()
    if (decision === DECISION.grant) {
      this.#keeper.grant(decider.record)
      return 0
    }
    if (decision === DECISION.wait) return COME_BACK_MS
    return decision === QUEUED
      ? Math.max(PATIENCE_MS, decider.skus.retryAfterMs[decider.sku] as number)
      : againIn(decision)
  }

  begin(): void {
    this.#decider.now = this.#parts.clock.now()
  }

  #feed(): void {
    this.#decider.hungry = -1
    this.#keeper.onHungry()
  }

  #onSettled(record: number, result: WriteResult): void {
    const { buyers, skus } = this.#decider
    const uid = buyers.uid[record] as number
    if (result !== 'written') {
      this.#parts.onNothing(uid)
      return
    }
    this.grants++
    const skuId = skus.skuId[buyers.sku[record] as number] as number
    this.#parts.onGrant(uid, skuId, buyers.tokenId(record), buyers.expiresAt[record] as number)
  }
}

const COME_BACK_MS = 200
/** Who waits comes back as told, but no sooner: ten million that ask five times a second are too many for one machine. */
const PATIENCE_MS = 4_000
const QUEUED = 2
const UNAVAILABLE = 9
const OVERLOADED = 11

function againIn(code: number): number {
  return code === UNAVAILABLE || code === OVERLOADED ? COME_BACK_MS : 0
}
