import type { Counter, Metrics } from '@bigtap/kernel'

/** Why a link ended. A closed set: it is a label. */
export const CLOSE_REASONS = [
  'PEER_CLOSED',
  'SOCKET_ERROR',
  'BAD_FRAME',
  'BAD_HELLO',
  'BAD_PROOF',
  'HELLO_TIMEOUT',
  'DEAD',
  'STALLED',
  'LINKS_EXCEEDED',
  'STOPPED',
  'CLOSED',
] as const
/** Why a link was closed. */
export type CloseReason = (typeof CLOSE_REASONS)[number]

/** Counts of all links of one process. Plain numbers are read at scrape. */
export interface LinkMetrics {
  framesIn: number
  framesOut: number
  bytesIn: number
  bytesOut: number
  open: number
  /** Frames that send() refused because too many bytes wait for the peer. */
  shed: Counter
  badFrames: Counter
  closed(reason: CloseReason): void
}

const known = new WeakMap<Metrics, LinkMetrics>()

/** The link metrics of a process; declared once, however many servers and dialers ask. */
export function linkMetricsOf(metrics: Metrics): LinkMetrics {
  const made = known.get(metrics) ?? declare(metrics)
  known.set(metrics, made)
  return made
}

function declare(metrics: Metrics): LinkMetrics {
  const closed = new Map<CloseReason, Counter>()
  for (const reason of CLOSE_REASONS) {
    closed.set(reason, metrics.counter('bigtap_link_closed_total', 'Links that ended, by reason', { reason }))
  }
  const counts: LinkMetrics = {
    framesIn: 0,
    framesOut: 0,
    bytesIn: 0,
    bytesOut: 0,
    open: 0,
    shed: metrics.counter('bigtap_link_shed_frames_total', 'Frames refused because the peer reads too slowly'),
    badFrames: metrics.counter('bigtap_link_bad_frames_total', 'Frames that broke the protocol'),
    closed: (reason) => closed.get(reason)?.inc(),
  }
  metrics.gauge('bigtap_link_open_count', 'Links whose peer has proved who it is', () => counts.open)
  metrics.gauge('bigtap_link_in_frames', 'Frames received since the start', () => counts.framesIn)
  metrics.gauge('bigtap_link_out_frames', 'Frames sent since the start', () => counts.framesOut)
  metrics.gauge('bigtap_link_in_bytes', 'Bytes received since the start', () => counts.bytesIn)
  metrics.gauge('bigtap_link_out_bytes', 'Bytes sent since the start', () => counts.bytesOut)
  return counts
}
