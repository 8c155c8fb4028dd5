/** Replies as values that an edge can write; those that do not change are made once. */

import { PROBLEM_STATUS, type ProblemCode, problemBody } from '@bigtap/domain'

/** What becomes of a request, for the counters: a closed set. */
export type Outcome = 'ok' | 'granted' | 'queued' | ProblemCode

/** A reply. `headers` is flat (name, value, name, value …); `block` is all of it in one piece (see makeReply). */
export interface Reply {
  readonly outcome: Outcome
  readonly status: number
  /** "410 Gone" */
  readonly statusLine: string
  readonly headers: readonly string[]
  /** Value of content-type and, after line breaks, every other header: one call into the native edge instead of many. */
  readonly block: string
  readonly body: string
  /** Is the connection closed after it? */
  readonly closes: boolean
  /** How long it tells to stay away, ms; 0 when it does not. */
  readonly toldMs: number
}

const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  425: 'Too Early',
  428: 'Precondition Required',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
}

const JSON_TYPE = 'application/json'
const PROBLEM_TYPE = 'application/problem+json'
/** A 410 is cacheable by default, and none of these may be. */
const NO_STORE = ['cache-control', 'no-store']

interface ReplyParts {
  readonly outcome: Outcome
  readonly status: number
  readonly type: string
  readonly body: string
  readonly headers?: readonly string[]
  readonly closes?: boolean
  readonly toldMs?: number
}

/** Makes a reply. Header values are ours and carry no line break; a test walks all of them. */
export function makeReply(parts: ReplyParts): Reply {
  const { outcome, status, type, body, headers = NO_STORE, closes = false, toldMs = 0 } = parts
  let block = type
  for (let at = 0; at < headers.length; at += 2) block += `\r\n${headers[at]}: ${headers[at + 1]}`
  const statusLine = `${status} ${REASONS[status] ?? 'Unknown'}`
  return { outcome, status, statusLine, headers: ['content-type', type, ...headers], block, body, closes, toldMs }
}

/** A reply with a JSON body. */
export function jsonReply(status: number, value: unknown, headers: readonly string[] = NO_STORE): Reply {
  return makeReply({ outcome: 'ok', status, type: JSON_TYPE, body: JSON.stringify(value), headers })
}

/** A problem document (RFC 9457). */
export function problemReply(code: ProblemCode, more: Record<string, unknown> = {}, closes = false): Reply {
  const body = JSON.stringify(problemBody(code, more))
  return makeReply({ outcome: code, status: PROBLEM_STATUS[code], type: PROBLEM_TYPE, body, closes })
}

/** A problem that says when to come back. */
export function retryProblem(code: ProblemCode, retryAfterMs: number): Reply {
  const body = JSON.stringify(problemBody(code, { retryAfterMs }))
  return makeReply({
    outcome: code,
    status: PROBLEM_STATUS[code],
    type: PROBLEM_TYPE,
    body,
    headers: retryHeaders(retryAfterMs),
    toldMs: retryAfterMs,
  })
}

const OK_BLOCK = makeReply({ outcome: 'granted', status: 200, type: JSON_TYPE, body: '' })

/** A grant: the token is base64url and dots, so that it needs no escaping. */
export function grantedReply(token: string, expiresAt: number): Reply {
  const { statusLine, headers, block } = OK_BLOCK
  const body = `{"state":"granted","token":"${token}","expiresAt":${expiresAt}}`
  return { outcome: 'granted', status: 200, statusLine, headers, block, body, closes: false, toldMs: 0 }
}

/** Waits beyond this many seconds get headers of their own making. */
const QUEUED_SECONDS_MAX = 60
const queuedBlocks = Array.from({ length: QUEUED_SECONDS_MAX + 1 }, (_, seconds) => queuedBlock(seconds * 1000))

/** Wait. In a line `place` is the buyer's number there, for good; 0 where there is none, or while a draw collects. */
export function queuedReply(ahead: number, etaMs: number, retryAfterMs: number, place = 0): Reply {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000))
  const { statusLine, headers, block } = queuedBlocks[seconds] ?? queuedBlock(retryAfterMs)
  const number = place > 0 ? `"place":${place},` : ''
  const body = `{"state":"queued",${number}"ahead":${ahead},"etaMs":${etaMs},"retryAfterMs":${retryAfterMs}}`
  return { outcome: 'queued', status: 202, statusLine, headers, block, body, closes: false, toldMs: retryAfterMs }
}

function queuedBlock(retryAfterMs: number): Reply {
  return makeReply({ outcome: 'queued', status: 202, type: JSON_TYPE, body: '', headers: retryHeaders(retryAfterMs) })
}

/** 405 with the methods that a path has. */
export function methodReply(allow: string): Reply {
  const { body, status } = problemReply('method_not_allowed')
  const headers = ['allow', allow, ...NO_STORE]
  return makeReply({ outcome: 'method_not_allowed', status, type: PROBLEM_TYPE, body, headers })
}

function retryHeaders(retryAfterMs: number): string[] {
  return ['retry-after', String(Math.max(1, Math.ceil(retryAfterMs / 1000))), ...NO_STORE]
}
