import type { ActivityDoc, Figures, SkuDoc, SkuState, StatusDoc } from '@bigtap/domain'
import { type Clock, type Logger, type Random, slotOf } from '@bigtap/kernel'
import type { Claimant, Grant, GrantLog, LeaseWish } from '@bigtap/store'
import { drawHashes } from '@bigtap/token'
import { ActivitySlots } from './activity-slots.ts'
import { RECORD } from './core/buyer-records.ts'
import type { Decider } from './core/decide.ts'
import { applyLease, type WriteResult } from './core/grants.ts'
import { giveAllBack, HUNGRY_EVERY_MS, isWorthAsking, planLease, smoothDemand } from './core/lease-plan.ts'
import { calledMaxOf } from './core/line.ts'
import { type GrantRate, type Pacing, paceUnder, stepGrantRate } from './core/pacing.ts'
import { stepRelease } from './core/release.ts'
import { GRANTS_PER_CALL_MAX, GrantWriter, isNotDone, mayHaveLost } from './grant-writer.ts'
import { LineKeeper } from './line-keeper.ts'

/**
 * ```
 *   waiting ──ledger there──► recovering ──name claimed, grants put back──► serving ──fault──► waiting
 *      ▲                          │ failed: again in 100 ms                  │
 *      └──────────────────────────┴─────────────── stop ◄───────────────────┘
 * ```
 * Only `serving` grants, and only in slots that are claimed and replayed (ActivitySlots); in the other states asks of a SKU
 * that is on sale are answered `unavailable`.
 */
export type KeeperState = 'waiting' | 'recovering' | 'serving' | 'stopped'

/** Collaborators of a keeper. */
export interface KeeperParts {
  readonly nodeId: string
  readonly decider: Decider
  readonly log: GrantLog
  readonly logger: Logger
  readonly clock: Clock
  readonly random: Random
  onSettled(record: number, result: WriteResult, isFault: boolean): void
  /** A buyer's place in the line is known. */
  onJoined(record: number): void
}

interface KeptSku {
  readonly sku: number
  doc: SkuDoc
  figures: Figures | undefined
  rate: GrantRate | undefined
  demand: number
  clusterDemand: number
  askedAt: number
}

const NOTHING_KNOWN = { figures: undefined, rate: undefined, demand: 0, clusterDemand: 0, askedAt: 0 }
const HEARTBEAT_MS = 500
const TOKEN_BYTES = 16
const RETRY_EVERY_MS = 100
/** A lease runs 1.5 s in the ledger; ours ends earlier, so that the ledger never takes back what we still grant from. */
export const LEASE_TRUST_MS = 1_200

/** A SKU as the catalog has it; `sku` is its place in the decider's table. */
export interface ConfiguredSku {
  readonly sku: number
  readonly doc: SkuDoc
  readonly status?: StatusDoc | undefined
}

/** One activity at this node: its claim, slots, leases, release machines and grants. */
export class ActivityKeeper {
  readonly activityId: number
  readonly slots: ActivitySlots
  readonly line: LineKeeper
  readonly skus = new Map<number, KeptSku>()
  /** Nodes that own slots; and does this one? */
  nodes = 1
  /** Every pace is multiplied by it: what cart, counter and order can take. */
  paceFactor = 1
  hasSlots = false
  #doc: ActivityDoc
  #state: KeeperState = 'waiting'
  #fence: number | undefined
  /** May Redis have lost what we granted? */
  #mustAdopt = false
  #isLeasing = false
  /** Units have come back that our figures do not know of. */
  #mustLook = false
  #leasedAt = 0
  #retryAt = 0
  #lastFault = ''
  readonly #parts: KeeperParts
  readonly #writer: GrantWriter

  constructor(doc: ActivityDoc, parts: KeeperParts) {
    this.activityId = doc.id
    this.#doc = doc
    this.#parts = parts
    this.slots = new ActivitySlots({ ...parts, activityId: doc.id, skuOf: (skuId) => this.skus.get(skuId)?.sku })
    this.line = new LineKeeper({
      ...parts,
      lines: parts.log.lines,
      hashes: drawHashes,
      claimant: () => this.#claimant(),
      calledMax: (skuId) => this.#calledMax(skuId),
      onFault: (error) => this.#onFault(error, isNotDone(error)),
    })
    this.#writer = new GrantWriter({
      decider: parts.decider,
      log: parts.log,
      logger: parts.logger,
      claimant: () => this.#claimant(),
      onSettled: (record, result, isFault) => this.#onSettled(record, result, isFault),
      onFault: (error) => this.#onFault(error),
    })
  }

  get state(): KeeperState {
    return this.#state
  }

  /** Does the activity have a ledger to serve from? */
  get hasLedger(): boolean {
    return this.#doc.state !== 'scheduled'
  }

  /** Serving, in all slots that the table gives us? */
  get isServing(): boolean {
    return this.#state === 'serving' && this.slots.isComplete
  }

  get isIdle(): boolean {
    return this.#writer.underWay === 0
  }

  get grantedTotal(): number {
    return this.slots.grants.reduce((sum, count) => sum + count, 0)
  }

  /** Takes the newest documents; they hold from this moment. */
  configure(doc: ActivityDoc, skus: readonly ConfiguredSku[]): void {
    const table = this.#parts.decider.skus
    this.#doc = doc
    for (const { sku, doc: skuDoc, status } of skus) {
      const kept = this.skus.get(skuDoc.id)
      if (kept === undefined) this.skus.set(skuDoc.id, { sku, doc: skuDoc, ...NOTHING_KNOWN })
      else kept.doc = skuDoc
      table.slots[sku] = this.slots.states
      table.isServing[sku] = this.#state === 'serving' ? 1 : 0
      this.slots.welcome(skuDoc.id)
      this.#mustLook ||= hasComeBack(table.state[sku], status)
    }
    this.line.configure(doc, skus)
    this.#stepReleases()
    if (this.#mustLook) void this.#lease(true)
  }

  /** Writes the grant that decide has just made; it is answered when it is settled. */
  grant(record: number): void {
    const { decider, clock, random } = this.#parts
    const { buyers, skus } = decider
    const policy = this.skus.get(skus.skuId[buyers.sku[record] as number] as number)?.doc.policy
    const words = new Uint32Array(new Uint8Array(random.bytes(TOKEN_BYTES)).buffer)
    buyers.token.set(words, record * 4)
    buyers.expiresAt[record] = clock.now() + (policy?.tokenSeconds ?? 60) * 1_000
    this.#writer.add(record)
  }

  /** Takes over what the slot table of `epoch` gives this node; the other slots go on meanwhile. */
  applySlots(epoch: number): void {
    this.slots.apply(epoch)
    void this.#takeSlots()
  }

  /** Each 50 ms. */
  tick(): void {
    const now = this.#parts.clock.now()
    for (const kept of this.skus.values()) {
      const { skus } = this.#parts.decider
      kept.demand = smoothDemand(kept.demand, skus.wanting[kept.sku] as number)
    }
    this.#stepReleases()
    for (const { sku } of this.skus.values()) this.#parts.decider.skus.wanting[sku] = 0
    const mayRetry = now >= this.#retryAt
    if (this.#state === 'serving') {
      this.line.tick()
      void this.#lease(this.#mustLook || now - this.#leasedAt >= HEARTBEAT_MS)
      if (mayRetry && !this.slots.isComplete) void this.#takeSlots()
    } else if (this.#state === 'waiting' && this.hasLedger && mayRetry) void this.#recover()
  }

  /** An open SKU's lease ran empty: do not wait for the tick, unless it is no use. */
  onHungry(): void {
    const sinceMs = this.#parts.clock.now() - this.#leasedAt
    if (sinceMs < HUNGRY_EVERY_MS) return
    const { skus } = this.#parts.decider
    for (const kept of this.skus.values()) {
      const wanting = skus.wanting[kept.sku] as number
      const pace = paceUnder(skus.state[kept.sku] ?? 'idle', kept.doc.policy, this.#pacingOf(kept.rate))
      if (wanting > 0 && isWorthAsking(kept.figures, pace, sinceMs)) {
        kept.demand = Math.max(kept.demand, wanting)
        void this.#lease(false)
        return
      }
    }
  }

  stop(): void {
    this.#leave('stopped')
  }

  #claimant(): Claimant | undefined {
    if (this.#state !== 'serving' || this.#fence === undefined) return undefined
    return { activityId: this.activityId, nodeId: this.#parts.nodeId, fence: this.#fence }
  }

  async #recover(): Promise<void> {
    const { log, nodeId, logger } = this.#parts
    this.#state = 'recovering'
    try {
      if (!this.isIdle) throw new Error('writes of the earlier claim are under way')
      this.#fence = await log.claim(this.activityId, nodeId)
      const who = { activityId: this.activityId, nodeId, fence: this.#fence }
      this.slots.lookUpDoubts()
      await this.slots.claim(who)
      if (this.#mustAdopt) await this.#adopt(who)
      if ((this.#state as KeeperState) === 'stopped') return
      this.#enterServing()
      logger.info({ activityId: this.activityId, fence: who.fence }, 'activity is served')
      await this.#takeSlots()
    } catch (error) {
      this.#sayFault(error, 'activity cannot be served yet')
      this.#mustAdopt ||= mayHaveLost(error)
      if ((this.#state as KeeperState) !== 'stopped') this.#state = 'waiting'
      this.#retryAt = this.#parts.clock.now() + RETRY_EVERY_MS
    }
  }

  /** Claims and replays what the table gives; a fault of a mere read leaves the other slots as they are. */
  async #takeSlots(): Promise<void> {
    const who = this.#claimant()
    if (who === undefined) return
    this.#retryAt = this.#parts.clock.now() + RETRY_EVERY_MS
    try {
      await this.slots.take(who, () => this.#claimant() !== undefined && this.#fence === who.fence)
    } catch (error) {
      if (this.#fence === who.fence) this.#onFault(error, isNotDone(error))
    }
  }

  /** Puts the outstanding tokens back that Redis may have lost; what it still knows stays as it is. */
  async #adopt(who: Claimant): Promise<void> {
    const { decider, log, logger, clock } = this.#parts
    const { buyers, skus } = decider
    const grants: Grant[] = []
    for (let record = 0; record < buyers.size; record++) {
      const sku = buyers.sku[record] as number
      const isOutstanding = buyers.state[record] === RECORD.outstanding && skus.activityId[sku] === this.activityId
      if (!isOutstanding || (buyers.expiresAt[record] as number) <= clock.now()) continue
      const uid = buyers.uid[record] as number
      const rest = { quantity: buyers.quantity[record] as number, expiresAt: buyers.expiresAt[record] as number }
      grants.push({
        tokenId: buyers.tokenId(record),
        uid,
        slot: slotOf(uid),
        skuId: skus.skuId[sku] as number,
        ...rest,
      })
    }
    let placeless = 0
    for (let at = 0; at < grants.length; at += GRANTS_PER_CALL_MAX) {
      const answers = await log.adopt(who, grants.slice(at, at + GRANTS_PER_CALL_MAX))
      placeless += answers.filter((answer) => answer !== 'written').length
    }
    logger.warn({ activityId: this.activityId, grants: grants.length, placeless }, 'grants put back into the ledger')
  }

  #enterServing(): void {
    const { skus } = this.#parts.decider
    this.#state = 'serving'
    this.#mustAdopt = false
    this.#lastFault = ''
    for (const { sku } of this.skus.values()) {
      skus.isServing[sku] = 1
      skus.available[sku] = 0
      skus.leaseUntil[sku] = 0
      // Nothing is under way: what was taken and never sent went back with the lease of before.
      skus.sent[sku] = skus.taken[sku] as number
    }
    this.line.onServing()
    void this.#lease(true)
  }

  #calledMax(skuId: number): number | undefined {
    const kept = this.skus.get(skuId)
    if (kept === undefined) return 0
    const state = this.#parts.decider.skus.state[kept.sku] ?? 'idle'
    return calledMaxOf(paceUnder(state, kept.doc.policy, this.#pacingOf(kept.rate)))
  }

  #leave(state: 'waiting' | 'stopped'): void {
    this.#state = state
    for (const { sku } of this.skus.values()) this.#parts.decider.skus.isServing[sku] = 0
  }

  async #lease(isHeartbeat: boolean): Promise<void> {
    const who = this.#claimant()
    if (who === undefined || this.#isLeasing) return
    const wishes = this.#wishes(isHeartbeat)
    if (wishes.length === 0) return
    const { decider, clock } = this.#parts
    const sentAtCall = wishes.map(({ skuId }) => decider.skus.sent[this.skus.get(skuId)?.sku ?? 0] as number)
    this.#isLeasing = true
    if (isHeartbeat) this.#mustLook = false
    this.#leasedAt = clock.now()
    const leaseUntil = this.#leasedAt + LEASE_TRUST_MS
    try {
      const replies = await this.#parts.log.lease(who, wishes)
      if (this.#fence !== who.fence) return
      for (const [index, { skuId }] of wishes.entries()) {
        const kept = this.skus.get(skuId)
        const reply = replies.get(skuId)
        if (kept === undefined || reply === undefined) continue
        kept.figures = reply.figures
        kept.clusterDemand = reply.demand
        kept.rate = stepGrantRate(kept.rate, reply.figures, this.#leasedAt, this.paceFactor)
        applyLease(decider, kept.sku, reply.held, sentAtCall[index] ?? 0, leaseUntil)
      }
      for (const { sku } of this.skus.values()) decider.skus.leaseUntil[sku] = leaseUntil
      this.#stepReleases()
    } catch (error) {
      this.#onFault(error, isNotDone(error))
    } finally {
      this.#isLeasing = false
    }
  }

  #wishes(isHeartbeat: boolean): LeaseWish[] {
    const { skus } = this.#parts.decider
    const wishes: LeaseWish[] = []
    const now = this.#parts.clock.now()
    for (const [skuId, kept] of this.skus) {
      const { sku, doc, figures, rate, demand, clusterDemand } = kept
      if (figures === undefined) {
        wishes.push({ skuId, want: 0, giveBack: 0, pacePerSecond: null })
        continue
      }
      const available = skus.available[sku] as number
      const sinceMs = Math.min(HEARTBEAT_MS, now - kept.askedAt)
      const facts = { state: skus.state[sku] ?? 'idle', policy: doc.policy, figures, available, nodes: this.nodes }
      const question = { ...facts, demand, clusterDemand, sinceMs, pacing: this.#pacingOf(rate) }
      const wish = this.hasSlots ? planLease(question) : giveAllBack(available)
      if (!isHeartbeat && wish.want + wish.more === 0 && wish.giveBack === 0) continue
      kept.askedAt = now
      skus.available[sku] = available - wish.giveBack
      wishes.push({ skuId, ...wish, demandMs: demand * sinceMs })
    }
    return wishes
  }

  #stepReleases(): void {
    const { decider, clock } = this.#parts
    const now = clock.now()
    for (const { sku, doc, figures, rate } of this.skus.values()) {
      const facts = { activity: this.#doc, doc, figures, now, nodes: this.nodes, pacing: this.#pacingOf(rate) }
      stepRelease(decider.skus, sku, facts)
    }
  }

  /** The factor holds from the moment it came, not only from the next measurement. */
  #pacingOf(rate: GrantRate | undefined): Pacing {
    return { factor: this.paceFactor, unpacedPerSecond: rate?.unpacedPerSecond ?? 0 }
  }

  #onSettled(record: number, result: WriteResult, isFault: boolean): void {
    const slot = slotOf(this.#parts.decider.buyers.uid[record] as number)
    if (result === 'written') this.slots.count(slot)
    else if (result === 'foreign') this.slots.doubt(slot)
    this.#parts.onSettled(record, result, isFault)
  }

  /** A lease that got no answer is asked for again; everything else puts claim and log in doubt. */
  #onFault(error: unknown, isSerious = true): void {
    this.#sayFault(error, 'call of the grant log failed')
    this.#mustAdopt ||= mayHaveLost(error)
    if (!isSerious || this.#state !== 'serving') return
    this.#leave('waiting')
  }

  /** Said once per kind, not twenty times a second. */
  #sayFault(error: unknown, message: string): void {
    const fault = error instanceof Error ? error.message : String(error)
    if (fault === this.#lastFault) return
    this.#lastFault = fault
    this.#parts.logger.warn({ activityId: this.activityId, error: fault }, message)
  }
}

/** The limiters sell again, and we would still say sold out until the next heartbeat. */
function hasComeBack(state: SkuState | undefined, status: StatusDoc | undefined): boolean {
  const isOut = state === 'soldOut' || state === 'exhausted'
  return isOut && status !== undefined && !status.soldOut && !status.exhausted && status.free > 0
}
