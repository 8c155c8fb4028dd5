/** Middle's verdicts as replies. */

import { VERDICT } from '@bigtap/domain'
import { jitterMs } from '@bigtap/kernel'
import { problem, retryReply, retryReplyIn } from './replies.ts'
import { grantedReply, queuedReply, type Reply } from './reply.ts'

/** One row of a verdict batch, in columns. */
export interface VerdictRow {
  readonly code: ArrayLike<number>
  readonly retryAfterMs: ArrayLike<number>
  readonly ahead: ArrayLike<number>
  readonly etaMs: ArrayLike<number>
  readonly place: ArrayLike<number>
  readonly token: ArrayLike<string>
  readonly tokenExpiresAt: ArrayLike<number>
}

const QUEUED_RETRY_MS = 500

/** Does the node not decide about this buyer (any more, or yet)? Then the ask is asked again. */
export function isMoved(code: number | undefined): boolean {
  return code === VERDICT.notOwner || code === VERDICT.moving
}

/** Does this verdict say nothing about the buyer? From a node that is the owner no more it must not win over the owner's. */
export function isEmpty(code: number | undefined): boolean {
  return isMoved(code) || code === VERDICT.unavailable || code === VERDICT.overloaded
}

/** The reply to a verdict; `notStarted` is made only when it is needed. A code of a later version is `unavailable`. */
export function verdictReply(verdicts: VerdictRow, row: number, draw: number, notStarted: () => Reply): Reply {
  const retryMs = verdicts.retryAfterMs[row] ?? 0
  switch (verdicts.code[row]) {
    case VERDICT.granted:
      return grantedReply(verdicts.token[row] ?? '', verdicts.tokenExpiresAt[row] ?? 0)
    case VERDICT.queued:
      return queuedOf(verdicts, row, jitterMs(retryMs || QUEUED_RETRY_MS, draw))
    case VERDICT.soldOut:
    case VERDICT.ended:
      return problem('sold_out')
    case VERDICT.alreadyBought:
      return problem('already_bought')
    case VERDICT.ruleRefused:
      return problem('rule_refused')
    case VERDICT.notStarted:
      return notStarted()
    case VERDICT.unknownSku:
      return problem('bad_ticket')
    case VERDICT.paused:
      return retryMs > 0 ? retryReplyIn('paused', retryMs, draw) : retryReply('paused', draw)
    case VERDICT.overloaded:
      return retryMs > 0 ? retryReplyIn('overloaded', retryMs, draw) : retryReply('overloaded', draw)
    default:
      return retryMs > 0 ? retryReplyIn('unavailable', retryMs, draw) : retryReply('unavailable', draw)
  }
}

function queuedOf({ ahead, etaMs, place }: VerdictRow, row: number, retryAfterMs: number): Reply {
  return queuedReply(ahead[row] ?? 0, etaMs[row] ?? 0, retryAfterMs, place[row] ?? 0)
}
