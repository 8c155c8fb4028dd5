/** The prebuilt replies, by code. What says "come back later" has variants, so that not all come back at once. */

import type { ProblemCode } from '@bigtap/domain'
import { jitterMs } from '@bigtap/kernel'
import { problemReply, type Reply, retryProblem } from './reply.ts'

/** 32: with +-20 % of 500 ms, neighbours are 6 ms apart. */
const VARIANTS = 32

/** When to come back, ms, before the jitter. */
export const RETRY_MS = { overloaded: 500, unavailable: 500, paused: 1_000, rate_limited: 250 } as const

/** Replies with a wait. */
export type RetryCode = keyof typeof RETRY_MS

const variants = Object.fromEntries(
  Object.entries(RETRY_MS).map(([code, ms]) => [
    code,
    Array.from({ length: VARIANTS }, (_, index) =>
      retryProblem(code as RetryCode, jitterMs(ms, index / (VARIANTS - 1))),
    ),
  ]),
) as Record<RetryCode, Reply[]>

/** One of the variants; `draw` in [0, 1). */
export function retryReply(code: RetryCode, draw: number): Reply {
  return variants[code][(draw * VARIANTS) | 0] ?? problemReply(code)
}

/** A wait that is known, with jitter. */
export function retryReplyIn(code: RetryCode, ms: number, draw: number): Reply {
  return retryProblem(code, Math.max(1, jitterMs(ms, draw)))
}

type PlainCode = Exclude<ProblemCode, RetryCode>

const PLAIN: readonly PlainCode[] = [
  'bad_request',
  'bad_ticket',
  'no_session',
  'not_reserved',
  'forbidden',
  'not_found',
  'already_bought',
  'rule_refused',
  'reservation_closed',
  'sold_out',
  'unsupported_media_type',
  'internal',
]

const plain = new Map<PlainCode, Reply>(PLAIN.map((code) => [code, problemReply(code)]))

/** A prebuilt problem. */
export function problem(code: PlainCode): Reply {
  return plain.get(code) ?? problemReply(code)
}

/** Who is shut out; the connection is closed, so that the next attempt costs the sender a new one. */
export const BLOCKED = problemReply('blocked', {}, true)

/** Shed, for the worst tier: its connection is closed too. */
export const OVERLOADED_CLOSING: Reply = { ...retryReply('overloaded', 1 - 1 / VARIANTS), closes: true }

/** Replies of the edge itself; the connection is not to be trusted after them. */
export const EDGE_FAULTS = {
  badRequest: problemReply('bad_request', {}, true),
  bodyTooLarge: problemReply('body_too_large', {}, true),
  requestTimeout: problemReply('request_timeout', {}, true),
  internal: problemReply('internal'),
  crowded: OVERLOADED_CLOSING,
} as const
