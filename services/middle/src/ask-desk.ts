import { VERDICT } from '@bigtap/domain'
import type { Clock, Logger, Metrics } from '@bigtap/kernel'
import { slotOf } from '@bigtap/kernel'
import { AskColumns, decodeAskBatch, KIND, type Kind } from '@bigtap/protocol'
import type { Grant, GrantLog } from '@bigtap/store'
import { issueAdmission, type KeyRing } from '@bigtap/token'
import type { Link } from '@bigtap/transport'
import type { ActivityKeeper } from './activity-keeper.ts'
import { LINE, NO_RECORD, RECORD } from './core/buyer-records.ts'
import { DECISION, type Decider, SLOT } from './core/decide.ts'
import { settleReread, type WriteResult } from './core/grants.ts'
import { TICK_MS } from './core/lease-plan.ts'
import { moveShedFrom, NOT_OVERLOADED, saidOf } from './core/overload.ts'
import { tellReturn } from './core/waiting-crowd.ts'
import { VerdictSender } from './verdict-sender.ts'
import { WaitTable } from './wait-table.ts'

/** Limits of the desk. */
export interface AskDeskSettings {
  /** Asks in one frame. */
  readonly asksPerFrameMax: number
  /** Asks that wait for a write or a re-read. */
  readonly waitingMax: number
  /** Buyers whose grants are being re-read. */
  readonly rereadsMax: number
}

/** Collaborators of the desk. */
export interface AskDeskParts {
  readonly decider: Decider
  readonly ring: KeyRing
  readonly log: Pick<GrantLog, 'states'>
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: Metrics
  keeperOf(activityId: number): ActivityKeeper | undefined
}

const BUDGET_MS = { initial: 500, max: 2_000 } as const
const RETRY_MS = { soon: 200, later: 1_000, max: 60_000 } as const
const VERDICT_NAMES = Object.entries(VERDICT)

/** Takes asks from limiters, decides them, answers at once or after the grant is written. */
export class AskDesk {
  readonly #parts: AskDeskParts
  readonly #settings: AskDeskSettings
  readonly #asks: AskColumns
  /** One row, to decide a waiting ask again. */
  readonly #again = new AskColumns(1)
  readonly #waiting: WaitTable
  readonly #sender: VerdictSender
  readonly #answered = new Float64Array(VERDICT_NAMES.length + 1)
  #rereads = 0
  #overload = NOT_OVERLOADED
  #tickedAt = 0
  #asksSinceTick = 0

  constructor(settings: AskDeskSettings, parts: AskDeskParts) {
    this.#settings = settings
    this.#parts = parts
    this.#asks = new AskColumns(settings.asksPerFrameMax)
    this.#waiting = new WaitTable(settings.waitingMax)
    this.#sender = new VerdictSender(parts)
    const { metrics } = parts
    for (const [verdict, code] of VERDICT_NAMES) {
      const read = () => this.#answered[code] as number
      metrics.gauge('bigtap_middle_verdicts_total', 'Asks answered, by verdict', read, { verdict })
    }
    metrics.gauge('bigtap_middle_waiting_count', 'Asks that wait for a write or a re-read', () => this.waiting)
    metrics.gauge('bigtap_middle_shed_from_count', 'Ranks from which asks are kept back; 0: none', () =>
      saidOf(this.#overload),
    )
    metrics.gauge('bigtap_middle_rereads_count', 'Buyers whose grants are being re-read', () => this.#rereads)
  }

  /** Asks that wait. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** A frame of a link; only asks are for us. A batch that cannot be read throws and closes the link. */
  onFrame(link: Link, kind: Kind, body: Uint8Array): void {
    if (kind !== KIND.ask) return
    const { decider, clock } = this.#parts
    const asks = this.#asks
    decodeAskBatch(body, asks)
    decider.now = clock.now()
    const budgetMs = Math.min(asks.budgetMs === 0 ? BUDGET_MS.initial : asks.budgetMs, BUDGET_MS.max)
    this.#asksSinceTick += asks.rows
    for (let row = 0; row < asks.rows; row++) this.#handle(link, asks, row, decider.now + budgetMs)
    this.#feedHungry()
  }

  /** A link has closed: nothing more is sent to it. */
  onClose(link: Link): void {
    this.#sender.forget(link)
  }

  /** The write of a grant has ended. */
  onSettled(record: number, result: WriteResult, isFault: boolean): void {
    const { decider, clock } = this.#parts
    decider.now = clock.now()
    if (result === 'written' || result === 'uncalled') this.#decideAgain(record)
    else {
      const code = isFault ? VERDICT.unavailable : result === 'foreign' ? VERDICT.notOwner : VERDICT.queued
      this.#waiting.release(record, (place) => this.#answerWaiting(place, code))
    }
  }

  /** A buyer's place in the line is known. */
  onJoined(record: number): void {
    this.#decideAgain(record)
  }

  /** Slots were lost: who waits here for a write or a re-read is sent to the new owner, which reads what stands in Redis. */
  onSlotsLost(): void {
    const { slots } = this.#parts.decider
    const { uid } = this.#waiting
    this.#waiting.drop(
      (place) => slots[slotOf(uid[place] as number)] !== SLOT.own,
      (place) => this.#answerWaiting(place, VERDICT.notOwner),
    )
  }

  /** Each 50 ms: who has waited for as long as its limiter allows is told that we do not know. */
  tick(): void {
    const now = this.#parts.clock.now()
    const { deadline } = this.#waiting
    this.#waiting.drop(
      (place) => (deadline[place] as number) <= now,
      (place) => this.#answerWaiting(place, VERDICT.unavailable),
    )
    this.#lookAtLoad()
  }

  /** What this node cannot take is kept back by the limiters, the worse first. */
  #lookAtLoad(): void {
    const { clock, decider } = this.#parts
    const now = clock.monotonic()
    const loopMs = this.#tickedAt === 0 ? 0 : Math.max(0, now - this.#tickedAt - TICK_MS)
    this.#tickedAt = now
    const waitingShare = this.waiting / this.#waiting.capacity
    const pendingShare = decider.pending / decider.pendingMax
    this.#overload = moveShedFrom(this.#overload, { loopMs, asks: this.#asksSinceTick, waitingShare, pendingShare })
    this.#asksSinceTick = 0
    this.#sender.shedFrom = saidOf(this.#overload)
  }

  #handle(link: Link, asks: AskColumns, row: number, deadline: number): void {
    const { decider, keeperOf } = this.#parts
    decider.mayReread = this.#rereads < this.#settings.rereadsMax
    const decision = decider.decide(asks, row)
    const { sku } = decider
    if (decision === DECISION.grant) keeperOf(decider.skus.activityId[sku] as number)?.grant(decider.record)
    else if (decision === DECISION.join) {
      const isTaken = keeperOf(decider.skus.activityId[sku] as number)?.line.join(decider.record) ?? false
      if (!isTaken) {
        this.#answer(link, asks.askId[row] as number, VERDICT.overloaded, sku, NO_RECORD)
        return
      }
    } else if (decision === DECISION.reread)
      this.#reread(asks.uid[row] as number, decider.skus.activityId[sku] as number)
    else if (decision !== DECISION.wait) {
      this.#answer(link, asks.askId[row] as number, decision, sku, decider.record)
      return
    }
    const { record } = decider
    const place = this.#waiting.add(record)
    if (place < 0) {
      this.#answer(link, asks.askId[row] as number, VERDICT.overloaded, sku, NO_RECORD)
      return
    }
    const table = this.#waiting
    table.askId[place] = asks.askId[row] as number
    table.uid[place] = asks.uid[row] as number
    table.quantity[place] = asks.quantity[row] as number
    table.sku[place] = sku
    table.deadline[place] = deadline
    table.links[place] = link
  }

  #answer(link: Link, askId: number, code: number, sku: number, record: number): void {
    const { decider, ring } = this.#parts
    const { skus, buyers } = decider
    this.#answered[code] = (this.#answered[code] as number) + 1
    if (code === VERDICT.granted) {
      const expiresAt = buyers.expiresAt[record] as number
      const who = { tokenId: buyers.tokenId(record), uid: buyers.uid[record] as number, expiresAt }
      const what = { activityId: skus.activityId[sku] as number, skuId: skus.skuId[sku] as number }
      const token = issueAdmission(ring, { ...who, ...what, quantity: buyers.quantity[record] as number })
      this.#sender.sendGranted(link, askId, token, expiresAt)
    } else if (code === VERDICT.queued && record !== NO_RECORD && buyers.line[record] !== LINE.none) {
      this.#answerPlace(link, askId, sku, record)
    } else if (code === VERDICT.queued) {
      const retryAfterMs = tellReturn(skus, sku, decider.now)
      const ahead = skus.ahead[sku] as number
      this.#sender.send(link, askId, code, retryAfterMs, ahead, Math.max(retryAfterMs, skus.etaMs[sku] as number))
    } else this.#sender.send(link, askId, code, this.#retryOf(code, sku))
  }

  /** A buyer in the line is told where he stands, and has been heard. */
  #answerPlace(link: Link, askId: number, sku: number, record: number): void {
    const { decider, keeperOf } = this.#parts
    const answer = keeperOf(decider.skus.activityId[sku] as number)?.line.hear(record)
    const { ahead = 0, etaMs = RETRY_MS.later, retryAfterMs = RETRY_MS.later } = answer ?? {}
    this.#sender.send(link, askId, VERDICT.queued, retryAfterMs, ahead, etaMs, decider.buyers.place[record] as number)
  }

  #retryOf(code: number, sku: number): number {
    const { decider } = this.#parts
    if (code === VERDICT.unavailable || code === VERDICT.overloaded) return RETRY_MS.soon
    if (code === VERDICT.notOwner || code === VERDICT.moving) return RETRY_MS.soon
    if (code === VERDICT.paused) return RETRY_MS.later
    if (code !== VERDICT.notStarted) return 0
    return Math.min(
      RETRY_MS.max,
      Math.max(RETRY_MS.soon, Math.ceil((decider.skus.opensAt[sku] as number) - decider.now)),
    )
  }

  #answerWaiting(place: number, code: number, record = NO_RECORD): void {
    const { links, askId, sku } = this.#waiting
    const link = links[place]
    if (link !== undefined) this.#answer(link, askId[place] as number, code, sku[place] as number, record)
  }

  /** Those who waited for a record that is settled now are decided again; its own SKU's get their grant. */
  #decideAgain(record: number): void {
    const { decider } = this.#parts
    const { buyers, skus } = decider
    this.#waiting.release(record, (place) => {
      const { sku, uid, quantity, askId, deadline, links } = this.#waiting
      const link = links[place]
      if (link === undefined) return
      const own = sku[place] as number
      const isOutstanding =
        buyers.state[record] === RECORD.outstanding && decider.now < (buyers.expiresAt[record] as number)
      if (isOutstanding && buyers.sku[record] === own) return this.#answerWaiting(place, VERDICT.granted, record)
      this.#again.clear()
      const [activityId, skuId] = [skus.activityId[own] as number, skus.skuId[own] as number]
      this.#again.push(askId[place] as number, uid[place] as number, activityId, skuId, quantity[place] as number)
      this.#handle(link, this.#again, 0, deadline[place] as number)
    })
    this.#feedHungry()
  }

  /** Asks the ledger what became of a buyer's grants in an activity; `decider.record` becomes what to wait for. */
  #reread(uid: number, activityId: number): void {
    const { decider } = this.#parts
    const { buyers, skus } = decider
    const records: number[] = []
    for (let record = buyers.first(uid); record !== NO_RECORD; record = buyers.next[record] as number) {
      const isSettled = buyers.state[record] === RECORD.outstanding || buyers.state[record] === RECORD.bought
      if (!isSettled || skus.activityId[buyers.sku[record] as number] !== activityId) continue
      buyers.isReading[record] = 1
      records.push(record)
    }
    decider.record = records[0] ?? NO_RECORD
    this.#rereads++
    void this.#readStates(activityId, records)
  }

  async #readStates(activityId: number, records: readonly number[]): Promise<void> {
    const { decider, log, clock, logger } = this.#parts
    const { buyers } = decider
    const states = await log
      .states(
        activityId,
        records.map((record) => this.#grantOf(record)),
      )
      .catch((error: unknown) => {
        logger.debug({ error }, 'grants could not be re-read, the last known state stays')
        return []
      })
    this.#rereads--
    decider.now = clock.now()
    for (const [index, record] of records.entries()) {
      const state = states[index]
      buyers.isReading[record] = 0
      if (state === undefined) buyers.readAt[record] = decider.now
      else settleReread(decider, record, state)
    }
    for (const record of records) this.#decideAgain(record)
  }

  #grantOf(record: number): Grant {
    const { buyers, skus } = this.#parts.decider
    const uid = buyers.uid[record] as number
    const skuId = skus.skuId[buyers.sku[record] as number] as number
    const [quantity, expiresAt] = [buyers.quantity[record] as number, buyers.expiresAt[record] as number]
    return { tokenId: buyers.tokenId(record), uid, slot: slotOf(uid), skuId, quantity, expiresAt }
  }

  #feedHungry(): void {
    const { decider, keeperOf } = this.#parts
    if (decider.hungry < 0) return
    const activityId = decider.skus.activityId[decider.hungry] as number
    decider.hungry = -1
    keeperOf(activityId)?.onHungry()
  }
}
