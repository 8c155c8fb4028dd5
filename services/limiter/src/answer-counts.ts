/** Counts of answers: plain numbers on the hot path, read at scrape. */

import { PROBLEM_STATUS } from '@bigtap/domain'
import type { Metrics } from '@bigtap/kernel'
import type { AskTable } from './core/ask-table.ts'
import type { Outcome, Reply } from './core/reply.ts'
import type { Edge } from './edge/edge.ts'

const OUTCOMES: readonly Outcome[] = ['ok', 'granted', 'queued', ...(Object.keys(PROBLEM_STATUS) as Outcome[])]

/** Answers by outcome, and the figures of the queue and the edge. */
export class AnswerCounts {
  readonly #metrics: Metrics
  readonly #counts = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 0])) as Record<Outcome, number>

  constructor(metrics: Metrics) {
    this.#metrics = metrics
    for (const outcome of OUTCOMES) {
      const read = () => this.#counts[outcome]
      metrics.gauge('bigtap_limiter_answers_total', 'Answers since the start, by outcome', read, { outcome })
    }
  }

  readonly count = (reply: Reply): void => {
    this.#counts[reply.outcome]++
  }

  /** All counts, for the operations port. */
  all(): Readonly<Record<Outcome, number>> {
    return this.#counts
  }

  /** Declares the figures of the queue and of the edge. */
  watch(asks: AskTable, edge: Edge): void {
    const metrics = this.#metrics
    metrics.gauge('bigtap_limiter_asks_depth', 'Asks that wait for Middle', () => asks.used)
    metrics.gauge('bigtap_limiter_asks_capacity', 'Most asks that may wait', () => asks.capacity)
    metrics.gauge('bigtap_limiter_asks_late_total', 'Verdicts that came too late', () => asks.late)
    metrics.gauge('bigtap_limiter_asks_expired_total', 'Asks without a verdict in their time', () => asks.expired)
    metrics.gauge('bigtap_limiter_asks_put_off_count', 'Asks that wait to be asked again', () => asks.putOffCount)
    metrics.gauge('bigtap_limiter_asks_again_total', 'Asks that were asked again', () => asks.askedAgain)
    metrics.gauge('bigtap_limiter_held_count', 'Requests that are held', () => edge.held)
    const refused = 'Refused because their address had too many already'
    const { caps } = edge
    metrics.gauge('bigtap_limiter_connections_refused_total', refused, () => caps?.refusedConnections ?? 0)
    metrics.gauge('bigtap_limiter_senders_refused_total', refused, () => caps?.refusedSenders ?? 0)
  }
}
