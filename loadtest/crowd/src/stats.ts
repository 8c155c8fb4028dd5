/** What the crowd saw: answers by class, latencies, and every order it was promised. */

/** Classes of answers to a buy request; the names of the report. */
export const ANSWER_CLASSES = [
  'granted',
  'queued',
  'soldOut',
  'refused',
  'rateLimited',
  'blocked',
  'overloaded',
  'error',
] as const
/** One class of answers. */
export type AnswerClass = (typeof ANSWER_CLASSES)[number]

/** Why something that a buyer saw must not happen. */
export interface Complaint {
  readonly kind: 'duplicate-order' | 'cart-answer-changed' | 'unexpected-status' | 'order-lost'
  readonly detail: string
}

/** An order that a cart call was answered with. */
export interface PromisedOrder {
  readonly orderId: string
  readonly uid: number
  readonly skuId: number
  readonly kind: 'normal' | 'bot'
}

const COMPLAINTS_MAX = 100
/** Latency buckets: 5 % wide from 0.1 ms on; 300 of them reach beyond 200 s. */
const BUCKET_WIDTH = 1.05
const BUCKETS = 300
const BUCKET_FIRST_MS = 0.1

/** Everything that is counted; plain numbers, read when the report is made. */
export class CrowdStats {
  asks = 0
  answers: Record<AnswerClass, number> = {
    granted: 0,
    queued: 0,
    soldOut: 0,
    refused: 0,
    rateLimited: 0,
    blocked: 0,
    overloaded: 0,
    error: 0,
  }
  normalAsks = 0
  normalServed = 0
  botAsks = 0
  botGranted = 0
  finished = 0
  gaveUp = 0
  paid = 0
  paymentsAccepted = 0
  cancelled = 0
  tokensLeft = 0
  firstAskAt = 0
  lastAskAt = 0
  readonly orders = new Map<string, PromisedOrder>()
  readonly complaints: Complaint[] = []
  complaintCount = 0
  readonly #buckets = new Float64Array(BUCKETS)
  #latencyMax = 0
  #latencies = 0

  /** Counts one answered buy request. */
  onAnswer(kind: 'normal' | 'bot', answer: AnswerClass, latencyMs: number, at: number): void {
    this.asks++
    this.answers[answer]++
    if (this.firstAskAt === 0) this.firstAskAt = at
    this.lastAskAt = at
    if (kind === 'bot') {
      this.botAsks++
      if (answer === 'granted') this.botGranted++
    } else this.normalAsks++
    this.#observe(latencyMs)
  }

  /** Remembers a promised order; a second order for one token or a changed answer is a complaint. */
  onOrder(order: PromisedOrder): void {
    this.orders.set(order.orderId, order)
  }

  /** Notes what must not happen; keeps the first of them and counts all. */
  complain(kind: Complaint['kind'], detail: string): void {
    this.complaintCount++
    if (this.complaints.length < COMPLAINTS_MAX) this.complaints.push({ kind, detail })
  }

  /** Percentiles of the buy requests in ms; each at most one bucket (5 %) above the true value. */
  latency(): { p50: number; p95: number; p99: number; max: number } {
    return {
      p50: this.#percentile(0.5),
      p95: this.#percentile(0.95),
      p99: this.#percentile(0.99),
      max: this.#latencyMax,
    }
  }

  #observe(ms: number): void {
    const bucket = ms <= BUCKET_FIRST_MS ? 0 : Math.ceil(Math.log(ms / BUCKET_FIRST_MS) / Math.log(BUCKET_WIDTH))
    this.#buckets[Math.min(bucket, BUCKETS - 1)]++
    this.#latencies++
    if (ms > this.#latencyMax) this.#latencyMax = round(ms)
  }

  #percentile(share: number): number {
    let left = Math.ceil(this.#latencies * share)
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      left -= this.#buckets[bucket] ?? 0
      if (left <= 0) return Math.min(round(BUCKET_FIRST_MS * BUCKET_WIDTH ** bucket), this.#latencyMax)
    }
    return this.#latencyMax
  }
}

/** Sorts an answer to a buy request into its class. */
export function classify(status: number, code: string | undefined): AnswerClass {
  if (status === 200) return 'granted'
  if (status === 202) return 'queued'
  if (status === 410) return 'soldOut'
  if (status === 429) return 'rateLimited'
  if (status === 403 && code === 'blocked') return 'blocked'
  if (status === 503) return code === 'overloaded' ? 'overloaded' : 'error'
  if (status === 409 || status === 403 || status === 425 || status === 428) return 'refused'
  return 'error'
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}
