import { CodedError, type Logger } from '@bigtap/kernel'
import { encodeError, encodeStats, KIND, type Kind, type Stats } from '@bigtap/protocol'
import type { Link } from './link.ts'

/**
 * Makes a handler that answers StatsPull frames with what `read` gives at that moment; true when the frame was one. Figures that
 * cannot be written are answered with an Error: a node that cannot tell them still does its work.
 */
export function createStatsResponder(
  read: () => Stats,
  { logger }: { logger: Logger },
): (link: Link, kind: Kind, correlation: number) => boolean {
  return (link, kind, correlation) => {
    if (kind !== KIND.statsPull) return false
    try {
      link.send(KIND.stats, correlation, encodeStats(read()))
    } catch (error) {
      if (!(error instanceof CodedError)) throw error
      logger.warn({ code: error.code, error: error.message }, 'figures cannot be told')
      link.send(KIND.error, correlation, encodeError({ code: error.code, message: error.message }))
    }
    return true
  }
}
