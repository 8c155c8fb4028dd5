/** Buyers for the pace benchmark: each asks, waits as long as it is told, and asks again until it has its token. */

import { VERDICT } from '@bigtap/domain'
import { slotOf } from '@bigtap/kernel'
import {
  AskColumns,
  askBatchBytesMax,
  decodeVerdictBatch,
  encodeAskBatch,
  KIND,
  VerdictColumns,
} from '@bigtap/protocol'
import type { Link } from '@bigtap/transport'

/** Where the asks of a slot's buyers go. */
export interface Desk {
  onFrame(link: Link, kind: typeof KIND.ask, body: Uint8Array): void
}

/** How many there are, how fast they come, and of what. */
export interface CrowdSettings {
  readonly buyers: number
  /** All have asked once by then, ms. */
  readonly arriveMs: number
  readonly activityId: number
  readonly skuId: number
}

const STEP_MS = 5
const ROWS = 4_096
const BUDGET_MS = 500
/** Who gets no answer that says when asks again after this. */
const AGAIN_MS = 200
/** A limiter spreads what it tells over a quarter more. */
const JITTER = 0.25

/**
 * ```
 *   wheel: due step ──► buyers ──AskBatch──► desk of the buyer's slot ──VerdictBatch──► granted: `onGrant`
 *     ▲                                                                    │ queued
 *     └────────────────────── now + retryAfterMs (+ 0..25 %) ◄─────────────┘
 * ```
 * Frames go straight into the desks: bytes as on the wire, but no socket.
 */
export class PaceCrowd {
  asks = 0
  readonly #settings: CrowdSettings
  readonly #deskOf: (slot: number) => Desk | undefined
  readonly #onGrant: () => void
  readonly #wheel = new Map<number, number[]>()
  readonly #batches = new Map<Desk, AskColumns>()
  readonly #bytes = new Uint8Array(askBatchBytesMax(ROWS))
  readonly #verdicts = new VerdictColumns(ROWS)
  readonly #link: Link
  readonly #startedAt = performance.now()
  #step = 0
  #random = 7
  #timer: NodeJS.Timeout | undefined

  constructor(settings: CrowdSettings, deskOf: (slot: number) => Desk | undefined, onGrant: () => void) {
    this.#settings = settings
    this.#deskOf = deskOf
    this.#onGrant = onGrant
    const send: Link['send'] = (_kind, _correlation, body) => this.#onVerdicts(body)
    const peer = { nodeId: 'crowd', role: 'limiter', remote: 'here', state: 'ready', clockOffsetMs: 0 } as const
    this.#link = { ...peer, unsentBytes: 0, roundTripMs: 0, send, close: () => undefined }
  }

  start(): void {
    const { buyers, arriveMs } = this.#settings
    for (let buyer = 1; buyer <= buyers; buyer++) this.#later(buyer, (arriveMs * buyer) / buyers)
    this.#timer = setInterval(() => this.#turn(), STEP_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #turn(): void {
    const until = Math.floor((performance.now() - this.#startedAt) / STEP_MS)
    for (; this.#step <= until; this.#step++) {
      for (const buyer of this.#wheel.get(this.#step) ?? []) this.#ask(buyer)
      this.#wheel.delete(this.#step)
    }
    for (const [desk, batch] of this.#batches) this.#flush(desk, batch)
  }

  #ask(uid: number): void {
    const desk = this.#deskOf(slotOf(uid))
    if (desk === undefined) return // its node is dead; the crowd of the others is large enough
    let batch = this.#batches.get(desk)
    if (batch === undefined) {
      batch = new AskColumns(ROWS)
      this.#batches.set(desk, batch)
    }
    this.asks++
    batch.push(uid, uid, this.#settings.activityId, this.#settings.skuId, 1)
    if (batch.rows === ROWS) this.#flush(desk, batch)
  }

  #flush(desk: Desk, batch: AskColumns): void {
    if (batch.rows === 0) return
    batch.budgetMs = BUDGET_MS
    const end = encodeAskBatch(batch, this.#bytes)
    batch.clear()
    desk.onFrame(this.#link, KIND.ask, this.#bytes.subarray(0, end))
  }

  /** The id of an ask is its buyer. */
  #onVerdicts(body: Uint8Array): true {
    const { askId, code, retryAfterMs } = this.#verdicts
    const { rows } = decode(body, this.#verdicts)
    for (let row = 0; row < rows; row++) {
      if (code[row] === VERDICT.granted) this.#onGrant()
      else this.#again(askId[row] as number, (retryAfterMs[row] as number) || AGAIN_MS)
    }
    return true
  }

  #again(buyer: number, retryAfterMs: number): void {
    this.#random = (Math.imul(this.#random, 1_664_525) + 1_013_904_223) >>> 0
    const waitMs = retryAfterMs * (1 + (this.#random / 2 ** 32) * JITTER)
    this.#later(buyer, performance.now() - this.#startedAt + waitMs)
  }

  #later(buyer: number, atMs: number): void {
    const step = Math.max(this.#step + 1, Math.ceil(atMs / STEP_MS))
    const due = this.#wheel.get(step)
    if (due === undefined) this.#wheel.set(step, [buyer])
    else due.push(buyer)
  }
}

function decode(body: Uint8Array, verdicts: VerdictColumns): VerdictColumns {
  verdicts.clear()
  decodeVerdictBatch(body, verdicts)
  return verdicts
}
