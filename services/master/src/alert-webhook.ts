/** Tells a webhook of every alarm that begins and ends: one call at a time, from a bounded queue. */

import type { Clock, Logger, Metrics } from '@bigtap/kernel'
import type { Alarm } from './core/alarms.ts'

/** Where to tell; the address is a secret and stands in no log. */
export interface WebhookSettings {
  readonly url: string | undefined
}

/** Collaborators. */
export interface WebhookParts {
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: Metrics
}

/** At the limit the oldest falls and is counted; an alarm that could not be told after its tries falls and is counted. */
export const WEBHOOK_LIMITS = { waitingMax: 100, callMsMax: 3_000, triesMax: 3, pauseMs: 500 } as const

/** The webhook; without an address it tells nobody. */
export class AlertWebhook {
  readonly #url: string | undefined
  readonly #parts: WebhookParts
  readonly #waiting: string[] = []
  readonly #dropped
  readonly #failed
  readonly #sent
  #sending: Promise<void> | undefined
  #isStopped = false

  constructor({ url }: WebhookSettings, parts: WebhookParts) {
    this.#url = url
    this.#parts = parts
    const { metrics } = parts
    this.#sent = metrics.counter('bigtap_master_webhook_sent_total', 'alarms that the webhook was told')
    this.#failed = metrics.counter('bigtap_master_webhook_failed_total', 'alarms that the webhook did not take')
    this.#dropped = metrics.counter('bigtap_master_webhook_dropped_total', 'alarms that fell because too many waited')
    metrics.gauge('bigtap_master_webhook_waiting_count', 'alarms that wait for the webhook', () => this.#waiting.length)
  }

  /** An alarm began or ended. What is silenced, and a rule that is not for the webhook, is not told. */
  tell(alarm: Alarm): void {
    if (this.#url === undefined || this.#isStopped) return
    if (alarm.silencedUntil > this.#parts.clock.now() || alarm.data.webhook === false) return
    if (this.#waiting.length >= WEBHOOK_LIMITS.waitingMax) {
      this.#waiting.shift()
      this.#dropped.inc()
    }
    const { key, severity, message, state, since, clearedAt, count, data } = alarm
    this.#waiting.push(JSON.stringify({ key, severity, message, state, since, clearedAt, count, data }))
    this.#sending ??= this.#sendAll(this.#url).finally(() => {
      this.#sending = undefined
    })
  }

  /** Resolves when the call under way is over; what waits falls. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#sending
  }

  async #sendAll(url: string): Promise<void> {
    for (let body = this.#waiting.shift(); body !== undefined && !this.#isStopped; body = this.#waiting.shift())
      (await this.#send(url, body)) ? this.#sent.inc() : this.#failed.inc()
  }

  async #send(url: string, body: string): Promise<boolean> {
    for (let tries = 1; !this.#isStopped; tries++) {
      const fault = await post(url, body)
      if (fault === undefined) return true
      const isLast = tries >= WEBHOOK_LIMITS.triesMax
      this.#parts.logger[isLast ? 'warn' : 'debug']({ fault, tries }, 'the webhook did not take an alarm')
      if (isLast) return false
      await new Promise((resolve) => setTimeout(resolve, WEBHOOK_LIMITS.pauseMs * tries))
    }
    return false
  }
}

/** What went wrong, without the address: an error's text may hold it. */
async function post(url: string, body: string): Promise<string | undefined> {
  try {
    const signal = AbortSignal.timeout(WEBHOOK_LIMITS.callMsMax)
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(url, { method: 'POST', body, headers, signal, redirect: 'error' })
    await answer.body?.cancel()
    return answer.ok ? undefined : `status ${answer.status}`
  } catch (error) {
    return error instanceof Error ? error.name : 'failed'
  }
}
