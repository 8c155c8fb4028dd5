import { type Clock, type Logger, SLOT_COUNT, slotOf } from '@bigtap/kernel'
import type { Claimant, GrantLog } from '@bigtap/store'
import { RECORD } from './core/buyer-records.ts'
import { type Decider, SLOT } from './core/decide.ts'
import { dropDoubts, takeOver } from './core/grants.ts'

/** Collaborators. */
export interface ActivitySlotsParts {
  readonly activityId: number
  readonly decider: Decider
  readonly log: Pick<GrantLog, 'claimSlots' | 'replay'>
  readonly logger: Logger
  readonly clock: Clock
  /** The place of a SKU in the decider's table, or undefined. */
  skuOf(skuId: number): number | undefined
}

/** Slots whose logs are read in one part: each is served as soon as it is known. */
const REPLAY_SLOTS = 64
/** Parts under way: an ask waits for three round trips, not for eighteen. */
const REPLAY_LANES = 4
const NO_EPOCH = -1

/**
 * The slots of one activity at this node. They change one by one, while the others go on:
 *
 * ```
 *   foreign ──table──► replaying ──claimed in Redis, log replayed──► own
 *      ▲                  │ ▲ │ refused: a newer table is on its way   │ │
 *      │                  │ └─┘                                        │ │
 *      │                  │ ▲────── Redis says it is another's ────────┘ │
 *      └──────table───────┴────────────────────────table─────────────────┘
 * ```
 * Safety lies in Redis alone: grants are written only for slots that the node has claimed under the newest table. What
 * stands here says only what is worth trying.
 */
export class ActivitySlots {
  readonly states = new Uint8Array(SLOT_COUNT)
  /** Grants written per slot that is ours, with those found in its log. */
  readonly grants = new Uint32Array(SLOT_COUNT)
  readonly #parts: ActivitySlotsParts
  /** Do we know all that stands in the slot's log, if Redis says that we have owned it all the while? */
  readonly #isKnown = new Uint8Array(SLOT_COUNT)
  readonly #strangers = new Set<number>()
  #epoch = NO_EPOCH
  #claimedEpoch = NO_EPOCH
  /** The fence of our last claim of slots, and whether that claim was answered. */
  #fence = 0
  #isAnswered = true
  #isTaking = false

  constructor(parts: ActivitySlotsParts) {
    this.#parts = parts
  }

  /** Is everything of the table claimed and replayed? */
  get isComplete(): boolean {
    return this.#claimedEpoch === this.#epoch && !this.states.includes(SLOT.replaying)
  }

  /**
   * Takes over what the table of `epoch` gives the node: lost slots are foreign at once, gained ones must be replayed. If a
   * table was missed, others may have owned ours meanwhile: nothing is granted before Redis has said that they did not.
   */
  apply(epoch: number): void {
    const { slots } = this.#parts.decider
    const isNext = epoch === this.#epoch + 1
    this.#epoch = epoch
    for (let slot = 0; slot < SLOT_COUNT; slot++) {
      if (slots[slot] === SLOT.own) {
        if (!isNext || this.states[slot] === SLOT.foreign) this.states[slot] = SLOT.replaying
      } else {
        this.states[slot] = SLOT.foreign
        this.#isKnown[slot] = 0
        this.grants[slot] = 0
      }
    }
  }

  /** A grant was written; that of a slot that was lost meanwhile is its new owner's to count. */
  count(slot: number): void {
    if (this.states[slot] !== SLOT.foreign) this.grants[slot] = (this.grants[slot] as number) + 1
  }

  /** A write was refused because the slot is another's: claim and replay it again, if the table still gives it to us. */
  doubt(slot: number): void {
    if (this.states[slot] !== SLOT.own) return
    this.states[slot] = SLOT.replaying
    this.#claimedEpoch = NO_EPOCH
  }

  /** Under a new claim: grants in doubt must be looked up in the log. */
  lookUpDoubts(): void {
    const { buyers } = this.#parts.decider
    for (let record = 0; record < buyers.size; record++) {
      if (buyers.state[record] !== RECORD.doubt || !this.#isOurs(record)) continue
      this.#replay(slotOf(buyers.uid[record] as number))
    }
  }

  /**
   * Forgets the records of a buyer, or of all, and looks them up again in the log: nothing is granted in their slots before.
   * What is being written or read stays. Tells how many were forgotten.
   */
  forget(uid: number | undefined): number {
    const { buyers } = this.#parts.decider
    let forgotten = 0
    for (let record = 0; record < buyers.size; record++) {
      const state = buyers.state[record]
      const isKept = buyers.isReading[record] === 1 || (state !== RECORD.outstanding && state !== RECORD.bought)
      if (isKept || !this.#isOurs(record) || (uid !== undefined && buyers.uid[record] !== uid)) continue
      buyers.state[record] = RECORD.free
      forgotten++
    }
    if (uid !== undefined) this.#replay(slotOf(uid))
    else for (let slot = 0; slot < SLOT_COUNT; slot++) this.#replay(slot)
    return forgotten
  }

  /** A SKU is known from now on; grants of it that were found before it was are looked up again. */
  welcome(skuId: number): void {
    if (!this.#strangers.delete(skuId)) return
    for (let slot = 0; slot < SLOT_COUNT; slot++) this.#replay(slot)
  }

  /** Claims all that the newest table gives us, and tells which slots Redis granted. Throws the log's faults. */
  async claim(who: Claimant): Promise<number[]> {
    const epoch = this.#epoch
    const isSure = this.#isAnswered
    const slots = [...this.states.keys()].filter((slot) => this.states[slot] !== SLOT.foreign)
    this.#isAnswered = false
    const claims = slots.length === 0 ? [] : await this.#parts.log.claimSlots(who, slots, epoch, this.#fence)
    this.#isAnswered = true
    this.#fence = who.fence
    this.#claimedEpoch = epoch
    for (const [index, slot] of slots.entries()) {
      if (claims[index] !== 'kept' || !isSure) this.#replay(slot)
      else if (this.#isKnown[slot] === 1 && this.#epoch === epoch) this.states[slot] = SLOT.own
    }
    const claimed = slots.filter((_, index) => claims[index] !== 'refused')
    if (claimed.length < slots.length) this.#sayRefused(epoch, slots.length - claimed.length)
    return claimed
  }

  /**
   * Claims and replays until nothing is left that can be had. Does nothing while an earlier call is under way; gives up
   * when `isValid` says that the claim has ended. Throws the log's faults.
   */
  async take(who: Claimant, isValid: () => boolean): Promise<void> {
    if (this.#isTaking) return
    this.#isTaking = true
    try {
      do await this.#takeOnce(who, isValid)
      while (isValid() && this.#claimedEpoch !== this.#epoch)
    } finally {
      this.#isTaking = false
    }
  }

  async #takeOnce(who: Claimant, isValid: () => boolean): Promise<void> {
    const { activityId, log, logger } = this.#parts
    const epoch = this.#epoch
    const claimed = await this.claim(who)
    const left = claimed.filter((slot) => this.states[slot] === SLOT.replaying)
    const seen = { slots: left.length, grants: 0, dropped: 0, lost: 0 }
    const parts = Array.from({ length: Math.ceil(left.length / REPLAY_SLOTS) }, (_, index) =>
      left.slice(index * REPLAY_SLOTS, (index + 1) * REPLAY_SLOTS),
    )
    const lane = async () => {
      for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
        const found = await log.replay(activityId, part)
        // A slot may have been lost and gained again meanwhile, and another may have granted in between.
        if (!isValid() || this.#epoch !== epoch) return
        seen.grants += found.length
        seen.lost += this.#takeOver(part, found)
        seen.dropped += this.#own(part)
      }
    }
    await Promise.all(Array.from({ length: REPLAY_LANES }, lane))
    if (!isValid() || this.#epoch !== epoch) return
    if (seen.lost > 0) logger.error({ activityId, lost: seen.lost }, 'no room for grants of the log')
    if (seen.slots > 0) logger.info({ activityId, epoch, ...seen }, 'slots replayed')
  }

  /** Tells for how many there was no room. */
  #takeOver(part: readonly number[], found: Awaited<ReturnType<GrantLog['replay']>>): number {
    const { decider, clock, skuOf } = this.#parts
    const counts = new Map(part.map((slot) => [slot, 0]))
    let lost = 0
    decider.now = clock.now()
    for (const { grant, state } of found) {
      counts.set(grant.slot, (counts.get(grant.slot) ?? 0) + 1)
      const sku = skuOf(grant.skuId)
      if (sku === undefined) this.#strangers.add(grant.skuId)
      else if (!takeOver(decider, sku, { ...grant, state })) lost++
    }
    // What was granted was granted, even where an emptied Redis has forgotten it.
    for (const [slot, count] of counts) this.grants[slot] = Math.max(this.grants[slot] as number, count)
    return lost
  }

  /** The part's logs are known: what is still in doubt there was never written. Tells how many those were. */
  #own(part: readonly number[]): number {
    const { buyers } = this.#parts.decider
    const replayed = new Set(part)
    const isReplayed = (record: number) => replayed.has(slotOf(buyers.uid[record] as number)) && this.#isOurs(record)
    const dropped = dropDoubts(this.#parts.decider, isReplayed)
    for (const slot of part) {
      this.states[slot] = SLOT.own
      this.#isKnown[slot] = 1
    }
    return dropped
  }

  #replay(slot: number): void {
    this.#isKnown[slot] = 0
    if (this.states[slot] === SLOT.own) this.states[slot] = SLOT.replaying
  }

  #isOurs(record: number): boolean {
    const { activityId, decider } = this.#parts
    return decider.skus.activityId[decider.buyers.sku[record] as number] === activityId
  }

  #sayRefused(epoch: number, refused: number): void {
    const { activityId, logger } = this.#parts
    logger.debug({ activityId, epoch, refused }, 'slots belong to others by a newer table')
  }
}
