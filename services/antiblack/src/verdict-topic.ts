/** Topic `verdicts`: a record of each verdict, for whoever reads along. The board is the truth; this may lag, and drop. */

import { type AbuseVerdict, subjectOf } from '@bigtap/domain'
import type { Producer } from '@bigtap/eventlog'
import { type AbuseVerdictBatch, encodeAbuseVerdicts } from '@bigtap/protocol'

/** Verdicts that wait while the log is away; the oldest fall. */
export const TOPIC_WAITING_MAX = 10_000
const SEND_MAX = 500

interface Waiting {
  readonly verdict: AbuseVerdict
  readonly position: number
}

/** What waits for the topic. */
export class VerdictTopic {
  readonly #producer: Producer
  #waiting: Waiting[] = []
  #dropped = 0

  constructor(producer: Producer) {
    this.#producer = producer
  }

  /** Verdicts that fell because too many waited. */
  get dropped(): number {
    return this.#dropped
  }

  get size(): number {
    return this.#waiting.length
  }

  add({ from, verdicts }: AbuseVerdictBatch): void {
    for (const [index, verdict] of verdicts.entries()) this.#waiting.push({ verdict, position: from + index })
    const excess = this.#waiting.length - TOPIC_WAITING_MAX
    if (excess <= 0) return
    this.#waiting.splice(0, excess)
    this.#dropped += excess
  }

  /** Sends what waits; rejects when the log is away, and keeps it. Its caller awaits one call before the next. */
  async flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      const some = this.#waiting.slice(0, SEND_MAX)
      const records = some.map(({ verdict, position }) => ({
        key: subjectOf(verdict),
        value: encodeAbuseVerdicts({ from: position, verdicts: [verdict] }),
      }))
      await this.#producer.send('verdicts', records)
      const sent = new Set(some)
      this.#waiting = this.#waiting.filter((one) => !sent.has(one))
    }
  }
}
