/** What a limiter tells dcacenter: plain counters, read when it asks. */

import type { Mirror } from '@bigtap/catalog'
import { RANK_COUNT } from '@bigtap/domain'
import type { Clock, Logger, Metrics, Random } from '@bigtap/kernel'
import type { Stats } from '@bigtap/protocol'
import { createServer, createStatsResponder, type Server } from '@bigtap/transport'
import type { AnswerCounts } from './answer-counts.ts'
import type { AccessLimits } from './core/access-limits.ts'
import type { AskTable } from './core/ask-table.ts'
import type { Shedding } from './core/shedding.ts'
import type { SkuCounts } from './core/sku-counts.ts'
import type { Edge } from './edge/edge.ts'

/** Where a limiter's figures stand. */
export interface LimiterFigures {
  readonly edge: Pick<Edge, 'held' | 'connections'>
  readonly asks: Pick<AskTable, 'used' | 'late' | 'expired'>
  readonly shedding: Pick<Shedding, 'threshold' | 'waitMs' | 'shed'>
  readonly answers: Pick<AnswerCounts, 'all'>
  readonly skus: SkuCounts
  readonly limits: Pick<AccessLimits, 'refused' | 'shareAt' | 'keys'>
  readonly catalog: Pick<Mirror, 'revision' | 'digest' | 'refused'>
}

/** Who the limiter is on the links, and where it listens. */
export interface StatsServerSettings {
  readonly nodeId: string
  readonly clusterSecret: string
  readonly host: string
  /** 0 takes a free port. */
  readonly statsPort: number
}

/** What the server works with. */
export interface StatsServerParts {
  readonly figures: LimiterFigures
  readonly logger: Logger
  readonly metrics: Metrics
  readonly clock: Clock
  readonly random: Random
  /** Of the process: cpu, rss, eventLoopMs. */
  readProcess(): Readonly<Record<keyof ProcessShare, number>>
}

/** What a process takes of its machine. */
export interface ProcessShare {
  readonly cpu: number
  readonly rss: number
  readonly eventLoopMs: number
}

/** One or two dcacenters, and room for a look by hand. */
const LINKS_MAX = 16

/** The limiter's link server: it only answers StatsPull. */
export function createStatsServer(settings: StatsServerSettings, parts: StatsServerParts): Server {
  const { nodeId, clusterSecret, host, statsPort } = settings
  const { figures, clock, readProcess } = parts
  const answer = createStatsResponder(() => limiterStats(figures, nodeId, clock.now(), readProcess()), parts)
  return createServer(
    { host, port: statsPort, nodeId, role: 'limiter', clusterSecret, linksMax: LINKS_MAX },
    { ...parts, onFrame: (link, kind, correlation) => void answer(link, kind, correlation) },
  )
}

/** All figures of a limiter. `connections` are the requests that are held where the edge cannot count connections. */
export function limiterStats(figures: LimiterFigures, nodeId: string, now: number, process: ProcessShare): Stats {
  const { edge, asks, shedding, answers, skus, catalog, limits } = figures
  const all = answers.all()
  const stats: Stats = {
    ...{ nodeId, role: 'limiter', at: Math.floor(now), labels: { digest: catalog.digest }, skus: [] },
    figures: {
      ...{ cpu: process.cpu, rss: process.rss, eventLoopMs: process.eventLoopMs },
      ...{ connections: edge.connections ?? edge.held, queueDepth: asks.used, revision: catalog.revision },
      ...{ shedRanks: RANK_COUNT - shedding.threshold, queueWaitMs: shedding.waitMs },
      ...{ refused: catalog.refused.length },
      ...{ asks: skus.asksTotal, shed: all.overloaded, asksLate: asks.late, asksExpired: asks.expired },
    },
  }
  Object.assign(stats.figures, { budgetShare: limits.shareAt(now), limitKeys: limits.keys })
  for (const [scope, count] of Object.entries(limits.refused)) stats.figures[`limited.${scope}`] = count
  for (const [tier, count] of shedding.shed.entries()) stats.figures[`shedOf.${tier}`] = count
  for (const [outcome, count] of Object.entries(all)) if (count > 0) stats.figures[`answers.${outcome}`] = count
  skus.forEach((activityId, skuId, row) => {
    const counts = { asks: skus.asks[row] as number, shed: skus.shed[row] as number }
    stats.skus.push({ activityId, skuId, state: '', figures: counts })
  })
  return stats
}
