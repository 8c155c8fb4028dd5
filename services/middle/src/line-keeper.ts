import {
  type ActivityDoc,
  callsAtOf,
  type DrawHashes,
  drawPseudonym,
  drawScore,
  hasLine,
  type LineRate,
  stepLineRate,
} from '@bigtap/domain'
import type { Clock, Logger } from '@bigtap/kernel'
import {
  type Claimant,
  LINE_HEARD_MAX,
  LINE_JOINS_MAX,
  type LineCall,
  type LineJoin,
  type LineMode,
  type LineReply,
  type Lines,
} from '@bigtap/store'
import { Batcher } from '@bigtap/transport'
import { LINE, NO_RECORD } from './core/buyer-records.ts'
import type { Decider } from './core/decide.ts'
import { type LineAnswer, lineAnswer } from './core/line.ts'
import { GATE_OPEN, GATE_QUEUED } from './core/sku-table.ts'

/** Collaborators of a keeper. */
export interface LineKeeperParts {
  readonly decider: Decider
  readonly lines: Pick<Lines, 'serve'>
  readonly hashes: DrawHashes
  readonly clock: Clock
  readonly logger: Logger
  /** Under which claim to call; undefined while there is none. */
  claimant(): Claimant | undefined
  /** How many of a SKU may be called and not have come yet; undefined: as many as there are places. */
  calledMax(skuId: number): number | undefined
  /** The record's place is known: decide again. */
  onJoined(record: number): void
  /** A call failed. */
  onFault(error: unknown): void
}

/** Buyers of one SKU that wait for their place to be written; one more is overloaded. */
export const JOINS_WAITING_MAX = 16_384
/** Buyers of one SKU whose heartbeat waits to be told; of one more it is the next that counts. */
export const HEARD_WAITING_MAX = 16_384
/** A line in which nothing is new is looked at this often. */
const LOOK_EVERY_MS = 500

interface Joining {
  readonly record: number
  readonly uid: number
}

interface KeptLine {
  readonly sku: number
  readonly skuId: number
  joins: Joining[]
  heard: Set<number>
  isCalling: boolean
  calledAt: number
  /** Of the places that are remembered here; undefined before the first reply. */
  run: number | undefined
  rate: LineRate | undefined
  /** In the line, or called, as the last reply told. */
  size: number
  wasShut: boolean
  /** Since when buyers can ask: nobody has left before. */
  thereAt: number
}

/**
 * The lines of one activity at this node. What stands here is a copy: places are given, and turns are called, in Redis alone,
 * by one script call per SKU at a time, at the tick or when somebody joins; the script that writes grants looks there again.
 *
 * ```
 *   ask ──no place──► joins ──┐                                   ┌──► place in the buyer's record, decided again
 *   ask ──place────► heard ──┴─ line-1, one call at a time ────────┴──► cursor: places up to it have their turn
 * ```
 */
export class LineKeeper {
  readonly #parts: LineKeeperParts
  readonly #lines = new Map<number, KeptLine>()
  readonly #batcher: Batcher
  #doc: ActivityDoc | undefined

  constructor(parts: LineKeeperParts) {
    this.#parts = parts
    this.#batcher = new Batcher(
      { itemsMax: LINE_JOINS_MAX, bytesMax: Number.MAX_SAFE_INTEGER },
      { flush: () => this.#takeIn() },
    )
  }

  /** Takes the newest document; a SKU that has a line is told to the decider. */
  configure(doc: ActivityDoc, rows: readonly { readonly sku: number; readonly doc: { readonly id: number } }[]): void {
    const { skus } = this.#parts.decider
    this.#doc = doc
    for (const {
      sku,
      doc: { id: skuId },
    } of rows) {
      const isQueue = doc.admission !== 'direct'
      if (isQueue) skus.line[sku] = 1
      skus.hasWaitingList[sku] = !isQueue && doc.waiting.hasWaitingList ? 1 : 0
      skus.callsAt[sku] = callsAtOf(doc)
      if (!this.#lines.has(skuId)) this.#lines.set(skuId, lineOf(sku, skuId))
    }
  }

  /** Buyers that wait for their place to be written. */
  get joining(): number {
    let count = 0
    for (const { joins } of this.#lines.values()) count += joins.length
    return count
  }

  /** Serving begins, anew or for the first time: whoever has not been heard so far could not ask. */
  onServing(): void {
    for (const line of this.#lines.values()) line.thereAt = this.#parts.clock.now()
  }

  /** Asks for a place for the record's buyer; false when too many wait for one. */
  join(record: number): boolean {
    const { buyers } = this.#parts.decider
    const line = this.#lineOf(record)
    if (line === undefined || line.joins.length >= JOINS_WAITING_MAX) {
      buyers.line[record] = LINE.none
      return false
    }
    line.joins.push({ record, uid: buyers.uid[record] as number })
    this.#batcher.added()
    return true
  }

  /** The record's buyer has asked, so that he is still there; what to tell him. */
  hear(record: number): LineAnswer {
    const { buyers, skus, now } = this.#parts.decider
    const [sku, uid] = [buyers.sku[record] as number, buyers.uid[record] as number]
    const line = this.#lineOf(record)
    if (line !== undefined && line.heard.size < HEARD_WAITING_MAX) line.heard.add(uid)
    return lineAnswer({
      ...{ uid, now, place: buyers.place[record] as number, cursor: skus.cursor[sku] as number },
      ...{ perSecond: line?.rate?.perSecond ?? 0, heartbeatMs: this.#heartbeatMs },
      ...{ callsAt: skus.callsAt[sku] as number, stillMs: skus.etaMs[sku] as number },
    })
  }

  /** Each 50 ms: tells Redis what is new, and lets it call whose turn has come. */
  tick(): void {
    for (const line of this.#lines.values()) {
      this.#lookAtGate(line)
      if (!line.isCalling && this.#isDue(line)) void this.#call(line)
    }
  }

  /** Joins do not wait for the tick; those that come while a call is under way are the next one's. */
  #takeIn(): void {
    for (const line of this.#lines.values()) if (line.joins.length > 0 && !line.isCalling) void this.#call(line)
  }

  get #heartbeatMs(): number {
    return (this.#doc?.waiting.heartbeatSeconds ?? 0) * 1_000
  }

  /** A pause takes nobody's place: buyers are told to stay away then, and cannot be heard. */
  #lookAtGate(line: KeptLine): void {
    const gate = this.#parts.decider.skus.gate[line.sku] as number
    const isShut = gate !== GATE_OPEN && gate !== GATE_QUEUED
    const isSoldOut = this.#parts.decider.skus.state[line.sku] === 'soldOut'
    if (line.wasShut && !isShut) line.thereAt = this.#parts.clock.now()
    line.wasShut = isShut && (line.wasShut || !isSoldOut)
  }

  #isDue(line: KeptLine): boolean {
    const { skus } = this.#parts.decider
    if (line.joins.length > 0 || line.heard.size > 0) return true
    if (!this.#isOpen(line) || skus.line[line.sku] !== 1) return false
    return line.size > 0 || this.#parts.clock.now() - line.calledAt >= LOOK_EVERY_MS
  }

  #isOpen({ sku }: KeptLine): boolean {
    const gate = this.#parts.decider.skus.gate[sku]
    return gate === GATE_OPEN || gate === GATE_QUEUED
  }

  async #call(line: KeptLine): Promise<void> {
    const { lines, claimant, clock, onFault } = this.#parts
    const who = claimant()
    const doc = this.#doc
    if (who === undefined || doc === undefined || !hasLine(doc)) return
    const joins = line.joins.splice(0, LINE_JOINS_MAX).filter((one) => this.#isJoining(one))
    const heard = takeSome(line.heard)
    line.isCalling = true
    line.calledAt = clock.now()
    try {
      this.#settle(line, joins, await lines.serve(who, this.#callOf(doc, line, joins, heard)))
    } catch (error) {
      line.joins.unshift(...joins)
      return onFault(error)
    } finally {
      line.isCalling = false
    }
    if (line.joins.length > 0) this.#batcher.added()
  }

  #callOf(doc: ActivityDoc, line: KeptLine, joins: readonly Joining[], heard: readonly number[]): LineCall {
    const { heartbeatSeconds, callSeconds } = doc.waiting
    return {
      skuId: line.skuId,
      mode: modeOf(doc),
      // Asks come in a little before the opening, by a limiter whose clock is ahead.
      callsAt: doc.admission === 'draw' ? callsAtOf(doc) : 0,
      heartbeatMs: heartbeatSeconds * 1_000,
      callMs: callSeconds * 1_000,
      calledMax: this.#isOpen(line) ? this.#parts.calledMax(line.skuId) : 0,
      thereAt: line.thereAt,
      joins: joins.map(({ uid }) => this.#joinOf(doc, line.skuId, uid)),
      heard,
    }
  }

  #joinOf(doc: ActivityDoc, skuId: number, uid: number): LineJoin {
    const { hashes } = this.#parts
    const { drawCommit: commit, drawSeed: seed } = doc.waiting
    if (modeOf(doc) !== 'draw') return { uid }
    const pseudonym = drawPseudonym({ commit, skuId }, uid, hashes)
    return { uid, pseudonym, score: drawScore(seed, pseudonym, hashes) }
  }

  #settle(line: KeptLine, joins: readonly Joining[], reply: LineReply): void {
    const { decider, clock, onJoined } = this.#parts
    const { skus, buyers } = decider
    if (line.run !== undefined && line.run !== reply.run) this.#void(line, joins)
    line.run = reply.run
    line.size = reply.waiting + reply.called
    line.rate = stepLineRate(line.rate, reply.cursor, clock.now())
    skus.cursor[line.sku] = reply.cursor
    if (this.#doc?.admission === 'direct') skus.line[line.sku] = line.size > 0 ? 1 : 0
    for (const uid of reply.lost) {
      const record = this.#recordOf(uid, line.sku)
      if (record !== NO_RECORD && buyers.line[record] !== LINE.joining) buyers.line[record] = LINE.none
    }
    decider.now = clock.now()
    const placed = joins.filter((one, index) => this.#place(one, reply.places[index] ?? 'called'))
    for (const { record } of placed) onJoined(record)
  }

  /** Takes the place over; false when the record has become another's meanwhile. */
  #place(one: Joining, place: number | 'called' | 'drawn'): boolean {
    if (!this.#isJoining(one)) return false
    const { buyers } = this.#parts.decider
    buyers.line[one.record] = place === 'drawn' ? LINE.drawn : LINE.waiting
    buyers.place[one.record] = typeof place === 'number' ? place : 0
    return true
  }

  /** A new run has begun: the places of the one before are void. */
  #void(line: KeptLine, joins: readonly Joining[]): void {
    const { buyers } = this.#parts.decider
    const kept = new Set(joins.map(({ record }) => record))
    let count = 0
    for (let record = 0; record < buyers.size; record++) {
      const isOld = buyers.sku[record] === line.sku && buyers.line[record] !== LINE.joining && !kept.has(record)
      if (!isOld || buyers.line[record] === LINE.none) continue
      buyers.line[record] = LINE.none
      count++
    }
    line.rate = undefined
    this.#parts.logger.info(
      { activityId: this.#doc?.id, skuId: line.skuId, count },
      'places of an earlier run are void',
    )
  }

  #isJoining({ record, uid }: Joining): boolean {
    const { buyers } = this.#parts.decider
    return buyers.uid[record] === uid && buyers.line[record] === LINE.joining
  }

  #recordOf(uid: number, sku: number): number {
    const { buyers } = this.#parts.decider
    let record = buyers.first(uid)
    while (record !== NO_RECORD && (buyers.sku[record] !== sku || buyers.line[record] === LINE.none))
      record = buyers.next[record] as number
    return record
  }

  #lineOf(record: number): KeptLine | undefined {
    const { buyers, skus } = this.#parts.decider
    return this.#lines.get(skus.skuId[buyers.sku[record] as number] as number)
  }
}

/** Without a seed nothing can be drawn: then the line stands in the order of joining. */
function modeOf({ admission, waiting }: ActivityDoc): LineMode {
  if (admission === 'direct') return 'list'
  return admission === 'draw' && waiting.drawSeed !== '' ? 'draw' : 'queue'
}

function lineOf(sku: number, skuId: number): KeptLine {
  const nothing = { joins: [], heard: new Set<number>(), isCalling: false, calledAt: 0, size: 0, wasShut: true }
  return { sku, skuId, run: undefined, rate: undefined, thereAt: 0, ...nothing }
}

function takeSome(heard: Set<number>): number[] {
  const taken: number[] = []
  for (const uid of heard) {
    if (taken.length === LINE_HEARD_MAX) break
    taken.push(uid)
    heard.delete(uid)
  }
  return taken
}
