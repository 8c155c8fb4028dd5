import type { Counter, Metrics } from '@bigtap/kernel'
import { BYTES_MAX, ENTRIES_MAX } from './core/backlog.ts'
import type { FanOut } from './core/fan-out.ts'

/** Why a frame was refused. */
export const REFUSALS = ['stale_epoch', 'not_master', 'not_judge', 'unknown_kind'] as const
/** One of the reasons. */
export type Refusal = (typeof REFUSALS)[number]

/** Counts of the router; what the backlog counts itself is read at scrape. */
export interface RouterMetrics {
  commands: number
  frames: number
  acks: number
  lateAcks: number
  refusedDocuments: number
  verdicts: number
  verdictFrames: number
  unsentVerdictFrames: number
  readonly refused: Readonly<Record<Refusal, Counter>>
  readonly cut: Counter
}

/** Declares the router's metrics. */
export function declareMetrics(metrics: Metrics, fanOut: FanOut, masters: () => number): RouterMetrics {
  const { backlog } = fanOut
  const counter = (reason: Refusal): Counter =>
    metrics.counter('bigtap_router_refused_frames_total', 'Frames that were not taken, by reason', { reason })
  const counts: RouterMetrics = {
    ...{ commands: 0, frames: 0, acks: 0, lateAcks: 0, refusedDocuments: 0 },
    ...{ verdicts: 0, verdictFrames: 0, unsentVerdictFrames: 0 },
    refused: {
      stale_epoch: counter('stale_epoch'),
      not_master: counter('not_master'),
      not_judge: counter('not_judge'),
      unknown_kind: counter('unknown_kind'),
    },
    cut: metrics.counter('bigtap_router_cut_nodes_total', 'Links cut because something urgent could not be kept'),
  }
  const gauge = (name: string, help: string, read: () => number) => metrics.gauge(`bigtap_router_${name}`, help, read)
  gauge('nodes_count', 'Fronts that are linked', () => fanOut.nodes.size)
  gauge('masters_count', 'Masters that are linked', masters)
  gauge('behind_count', 'Fronts that have not been sent everything', () => fanOut.behind)
  gauge('epoch_count', 'Epoch of the leader that is followed', () => backlog.epoch)
  gauge('head_count', 'Newest catalog revision that is known', () => backlog.head)
  gauge('queue_depth_count', 'Commands that some front has not been sent', () => backlog.size)
  gauge('queue_capacity_count', 'Most commands that may wait', () => ENTRIES_MAX)
  gauge('queue_bytes', 'Bytes of the commands that wait', () => backlog.bytes)
  gauge('queue_capacity_bytes', 'Most bytes that may wait', () => BYTES_MAX)
  gauge('queue_dropped_count', 'Commands that fell since the start, at a limit', () => backlog.dropped)
  gauge('superseded_count', 'Commands that a newer one replaced while they waited', () => backlog.superseded)
  gauge('gaps_count', 'Batches of masters that did not arrive', () => backlog.gaps)
  gauge('commands_count', 'Commands received since the start', () => counts.commands)
  gauge('frames_count', 'Command frames sent since the start', () => counts.frames)
  gauge('acks_count', 'Acks received since the start', () => counts.acks)
  gauge('late_acks_count', 'Acks that no frame waited for', () => counts.lateAcks)
  gauge('refused_documents_count', 'Refusals that fronts have told', () => counts.refusedDocuments)
  gauge('verdicts_count', 'Verdicts about abuse received since the start', () => counts.verdicts)
  gauge('verdict_frames_count', 'Frames of verdicts sent to limiters since the start', () => counts.verdictFrames)
  gauge(
    'unsent_verdict_frames_count',
    'Frames of verdicts that a full link did not take: its limiter reads the board',
    () => counts.unsentVerdictFrames,
  )
  return counts
}
