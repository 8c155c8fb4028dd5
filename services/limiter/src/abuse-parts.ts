/** What a limiter has to do with antiblack: the request log goes out, verdicts come in. Made before the links to the routers. */

import { openEventLog } from '@bigtap/eventlog'
import type { Clock, Logger, Metrics } from '@bigtap/kernel'
import type { AbuseVerdictBatch } from '@bigtap/protocol'
import { createWorker, type Part } from '@bigtap/runtime'
import { AbuseBoard, type Store } from '@bigtap/store'
import { ABUSE_ROUND_MS, AbuseFeed } from './abuse-feed.ts'
import { KnownVerdicts } from './core/known-verdicts.ts'
import { type AccessLog, NO_LOG, type VerdictBook } from './core/ports.ts'
import { RequestLog } from './request-log.ts'

/** Settings of both (see config.ts). */
export interface AbuseSettings {
  readonly nodeId: string
  readonly accessLog: boolean
  readonly verdictsMax: number
  readonly eventLog: string
  readonly redisUrl: string
  readonly kafkaBrokers: readonly string[]
}

/** Collaborators. */
export interface AbuseContext {
  readonly store: Store
  readonly logger: Logger
  readonly metrics: Metrics
  readonly clock: Clock
}

/** For the limiter: `log` and `verdicts`; for the links: `onFrame`; for the service: `parts`, and `view` for /debug/verdicts. */
export interface Abuse {
  readonly log: AccessLog
  readonly verdicts: VerdictBook
  readonly parts: readonly Part[]
  onFrame(batch: AbuseVerdictBatch): void
  view(): Record<string, unknown>
}

/** Puts both together; `parts` begin them. A limiter works without either: the log drops, the last verdicts stay. */
export function createAbuse(settings: AbuseSettings, context: AbuseContext): Abuse {
  const { logger } = context
  const known = new KnownVerdicts({ verdictsMax: settings.verdictsMax })
  const feed = new AbuseFeed({ ...context, board: new AbuseBoard(context.store), known })
  const worker = createWorker(
    { name: 'verdicts', everyMs: ABUSE_ROUND_MS, work: () => feed.round(), startsAtOnce: true },
    logger,
  )
  const { log, parts } = settings.accessLog ? createRequestLog(settings, context) : { log: NO_LOG, parts: [] }
  return {
    log,
    verdicts: known,
    parts: [...parts, { ...worker, limits: { verdictsMax: settings.verdictsMax } }],
    onFrame: (batch) => feed.onFrame(batch),
    view: () => feed.view(),
  }
}

function createRequestLog(settings: AbuseSettings, context: AbuseContext): { log: AccessLog; parts: Part[] } {
  const events = openEventLog(settings, { logger: context.logger })
  const log = new RequestLog(settings, { ...context, producer: events.producer() })
  const stop = async () => {
    await log.stop()
    await events.close()
  }
  return { log, parts: [{ name: 'request log', start: () => log.start(), stop, limits: log.limits }] }
}
