/** A made-up sale: how the platform answers, and rows of what it answered. */

import {
  ACCESS_CALL,
  ACCESS_FLAG,
  ACCESS_OUTCOME,
  type AccessCall,
  AccessColumns,
  type AccessOutcome,
  toldFlags,
} from '@bigtap/protocol'
import { between, type Draw, logBetween, whole } from './chance.ts'

/** Somebody who asks. */
export interface Asker {
  readonly uid: number
  readonly skuId: number
  /** Take turns. */
  readonly addresses: readonly string[]
  readonly device: number
}

/** An answer: what became of an ask, and how long it told to stay away, ms. */
export interface Answered {
  readonly outcome: AccessOutcome
  readonly toldMs: number
}

interface Row extends Answered {
  readonly at: number
  readonly asker: Asker
  readonly address: string
  readonly call: AccessCall
  readonly flags: number
}

const START = 1_800_000_000_000
const OPENS_AFTER_MS = 5_000
const FLUSH_MS = 100
const BATCH_ROWS_MAX = 4_096
const SKUS = 3
/** Requests of anybody that seem too fast: double clicks whose first half was answered in between. */
const IMPOSSIBLE_SHARE = 0.03
const WINDOW_MS = 1_000

/** One sale, its terms drawn from the seed: a long or a short queue, with limits or without, calm or overloaded. */
export class SyntheticSale {
  readonly draw: Draw
  readonly opensAt = START + OPENS_AFTER_MS
  readonly soldOutAt: number
  /** Is it known to the log what was told? Old logs do not have it. */
  readonly #knowsTold: boolean
  readonly #queueMs: number
  readonly #limit: number
  readonly #shedShare: number
  readonly #grantShare: number
  readonly #latencyMs: number
  /** How long a request of a machine waits for one of its address' few connections, ms in the mean; 0 on a quick network. */
  readonly #machineMs: number
  readonly #rows: Row[] = []
  /** Times of each buyer's latest asks. */
  readonly #asked = new Map<number, number[]>()

  constructor(draw: Draw) {
    this.draw = draw
    this.soldOutAt = this.opensAt + between(draw, 15_000, 45_000)
    this.#knowsTold = draw() < 0.8
    this.#queueMs = logBetween(draw, 150, 8_000)
    this.#limit = draw() < 0.5 ? whole(draw, 3, 8) : Number.POSITIVE_INFINITY
    this.#shedShare = draw() < 0.5 ? between(draw, 0, 0.3) : 0
    this.#grantShare = between(draw, 0.003, 0.03)
    this.#latencyMs = logBetween(draw, 4, 200)
    this.#machineMs = draw() < 0.5 ? 0 : logBetween(draw, 50, 3_000)
  }

  /** A product. */
  sku(): number {
    return whole(this.draw, 1, SKUS)
  }

  /** How long an answer takes, ms. */
  latency(): number {
    return -Math.log(1 - this.draw()) * this.#latencyMs + 1
  }

  /** How long a machine waits for a connection, ms. */
  machineLag(): number {
    return -Math.log(1 - this.draw()) * this.#machineMs
  }

  /** Asks for the hidden path. */
  path(asker: Asker, at: number, turn = 0): Answered {
    const isEarly = at < this.opensAt
    const outcome = isEarly ? ACCESS_OUTCOME.notStarted : ACCESS_OUTCOME.ok
    const answered = { outcome, toldMs: isEarly ? this.opensAt - at : 0 }
    this.note(asker, at, ACCESS_CALL.path, answered, 0, turn)
    return answered
  }

  /** Asks to buy. */
  buy(asker: Asker, at: number, turn = 0): Answered {
    const answered = this.#answer(asker, at)
    const isImpossible = this.draw() < IMPOSSIBLE_SHARE
    this.note(asker, at, ACCESS_CALL.buy, answered, isImpossible ? ACCESS_FLAG.impossibleTiming : 0, turn)
    return answered
  }

  /** Writes a row. */
  note(asker: Asker, at: number, call: AccessCall, answered: Answered, flags: number, turn = 0): void {
    const address = asker.addresses[turn % asker.addresses.length] ?? ''
    this.#rows.push({ at: Math.round(at), asker, address, call, ...answered, flags })
  }

  /** The log: batches of 100 ms. */
  batches(): AccessColumns[] {
    const rows = this.#rows.sort((one, other) => one.at - other.at)
    const batches: AccessColumns[] = []
    for (const row of rows) {
      const last = batches.at(-1)
      const isOpen = last !== undefined && row.at - last.at < FLUSH_MS && last.rows < last.capacity
      this.#put(isOpen ? last : open(batches, row.at), row)
    }
    return batches
  }

  #answer(asker: Asker, at: number): Answered {
    const { draw } = this
    const jitter = between(draw, 0.8, 1.2)
    if (at < this.opensAt) return { outcome: ACCESS_OUTCOME.notStarted, toldMs: this.opensAt - at }
    if (this.#isOverLimit(asker.uid, at)) return { outcome: ACCESS_OUTCOME.rateLimited, toldMs: 250 * jitter }
    if (draw() < this.#shedShare) return { outcome: ACCESS_OUTCOME.shed, toldMs: 500 * jitter }
    if (at > this.soldOutAt) return { outcome: ACCESS_OUTCOME.soldOut, toldMs: 0 }
    if (draw() < this.#grantShare) return { outcome: ACCESS_OUTCOME.granted, toldMs: 0 }
    return { outcome: ACCESS_OUTCOME.queued, toldMs: Math.max(150, this.#queueMs * between(draw, 0.5, 1.5)) * jitter }
  }

  #isOverLimit(uid: number, at: number): boolean {
    const recent = (this.#asked.get(uid) ?? []).filter((one) => Math.abs(at - one) < WINDOW_MS)
    this.#asked.set(uid, [...recent, at])
    return recent.length >= this.#limit
  }

  #put(batch: AccessColumns, { at, asker, address, call, outcome, toldMs, flags }: Row): void {
    const row = batch.rows++
    let index = batch.addresses.indexOf(address)
    if (index < 0) index = batch.addresses.push(address) - 1
    batch.afterMs[row] = at - batch.at
    batch.uid[row] = asker.uid
    batch.activityId[row] = 1
    batch.skuId[row] = asker.skuId
    batch.call[row] = call
    batch.outcome[row] = outcome
    batch.flags[row] = flags | (this.#knowsTold ? toldFlags(toldMs) : 0)
    batch.address[row] = index
    batch.device[row] = asker.device
  }
}

function open(batches: AccessColumns[], at: number): AccessColumns {
  const batch = new AccessColumns(BATCH_ROWS_MAX)
  batch.at = at
  batch.nodeId = 'synthetic'
  batches.push(batch)
  return batch
}
