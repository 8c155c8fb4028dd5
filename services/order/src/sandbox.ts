/** A payment provider to play with: a page, a button, and a signed callback that is repeated until it is taken. */

import { backoffMs, type Counter, type Logger, type Random } from '@bigtap/kernel'
import type { PaymentCallback } from './core/callback.ts'
import { type Sign, signatureOf } from './core/signature.ts'

/** What the sandbox works with. */
export interface SandboxParts {
  readonly callbackUrl: string
  readonly sign: Sign
  readonly now: () => number
  readonly random: Random
  readonly logger: Logger
  readonly onDropped: Counter
}

/** `waiting`: not taken yet, and sent again. */
export type Delivery = 'taken' | 'refused' | 'waiting' | 'dropped'

/** With the waits below, about four minutes: longer than any restart of the shop. */
const TRIES_MAX = 60
const WAIT_BASE_MS = 100
const WAIT_MS_MAX = 5_000
const CALL_MS_MAX = 3_000
/** Callbacks under way; beyond, the button answers 503. */
const DELIVERIES_MAX = 4_096
/** How long the button waits for the shop before it answers "later". */
const ANSWER_MS_MAX = 1_500

/** Sends callbacks. */
export class Sandbox {
  readonly limits = Object.freeze({ deliveriesMax: DELIVERIES_MAX, triesMax: TRIES_MAX, callMsMax: CALL_MS_MAX })
  readonly #parts: SandboxParts
  #isStopped = false
  #deliveries = 0

  constructor(parts: SandboxParts) {
    this.#parts = parts
  }

  /** Sends a callback until it is taken, with bounded tries; resolves when that is known, or after 1.5 s. */
  async send(callback: PaymentCallback): Promise<Delivery> {
    if (this.#deliveries >= DELIVERIES_MAX || this.#isStopped) {
      this.#parts.onDropped.inc()
      return 'dropped'
    }
    this.#deliveries++
    const delivery = this.#deliver(JSON.stringify(callback)).finally(() => {
      this.#deliveries--
    })
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<Delivery>((resolve) => {
      timer = setTimeout(() => resolve('waiting'), ANSWER_MS_MAX)
    })
    return Promise.race([delivery, late]).finally(() => clearTimeout(timer))
  }

  stop(): void {
    this.#isStopped = true
  }

  async #deliver(body: string): Promise<Delivery> {
    for (let attempt = 0; attempt < TRIES_MAX && !this.#isStopped; attempt++) {
      const answer = await this.#sendOnce(body)
      if (answer !== 'waiting') return answer
      const draw = this.#parts.random.next()
      const waitMs = backoffMs({ attempt, baseMs: WAIT_BASE_MS, maxMs: WAIT_MS_MAX, draw })
      await new Promise((resolve) => setTimeout(resolve, waitMs).unref())
    }
    this.#parts.onDropped.inc()
    this.#parts.logger.error({ triesMax: TRIES_MAX }, 'sandbox gave a callback up')
    return 'dropped'
  }

  async #sendOnce(body: string): Promise<Delivery> {
    const { callbackUrl, sign, now, logger } = this.#parts
    try {
      const signature = signatureOf(body, now(), sign)
      const answer = await fetch(callbackUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-payment-signature': signature },
        body,
        signal: AbortSignal.timeout(CALL_MS_MAX),
      })
      await answer.arrayBuffer()
      if (answer.ok) return 'taken'
      return answer.status >= 400 && answer.status < 500 && ![408, 429].includes(answer.status) ? 'refused' : 'waiting'
    } catch (error) {
      logger.debug({ error }, 'the shop did not take a callback and gets it again')
      return 'waiting'
    }
  }
}
