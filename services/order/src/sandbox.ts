/** A payment provider to play with: a page, a button, and a signed callback that is repeated until it is taken. */

import type { Logger } from '@bigtap/kernel'
import type { PaymentCallback } from './core/callback.ts'
import { type Sign, signatureOf } from './core/signature.ts'

/** What the sandbox works with. */
export interface SandboxParts {
  readonly callbackUrl: string
  readonly sign: Sign
  readonly now: () => number
  readonly logger: Logger
}

const TRIES_MAX = 8
const FIRST_WAIT_MS = 100
const CALL_MS_MAX = 3_000

/** Sends callbacks. */
export class Sandbox {
  readonly #parts: SandboxParts

  constructor(parts: SandboxParts) {
    this.#parts = parts
  }

  /** Sends one callback; gives up after bounded tries, as providers do. */
  async send(callback: PaymentCallback): Promise<boolean> {
    const body = JSON.stringify(callback)
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      if (await this.#sendOnce(body)) return true
      await new Promise((resolve) => setTimeout(resolve, FIRST_WAIT_MS * 2 ** tries))
    }
    this.#parts.logger.error({ paymentId: callback.paymentId }, 'sandbox gave a callback up')
    return false
  }

  async #sendOnce(body: string): Promise<boolean> {
    try {
      const answer = await fetch(this.#parts.callbackUrl, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-payment-signature': signatureOf(body, this.#parts.now(), this.#parts.sign),
        },
        body,
        signal: AbortSignal.timeout(CALL_MS_MAX),
      })
      await answer.arrayBuffer()
      return answer.ok
    } catch {
      return false // the shop is away: the next try
    }
  }
}

/** The sandbox's page. */
export function sandboxPage(paymentId: string, amountCents: number, currency: string): string {
  const amount = `${(amountCents / 100).toFixed(2)} ${currency}`
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sandbox payment</title><style>:root{color-scheme:light dark}body{font:1rem/1.5 system-ui;max-width:30rem;margin:3rem auto;padding:0 1rem}button{font:inherit;padding:.5rem 1rem}</style>
<h1>Sandbox payment</h1><p>Payment <code>${paymentId}</code> of ${amount}. No money moves.</p>
<form method="post"><button name="outcome" value="paid">Pay</button> <button name="outcome" value="failed">Let it fail</button></form></html>`
}
