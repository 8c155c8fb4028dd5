/** Codes that others rely on: Middle's verdicts on the wire, problems over HTTP. */

/** Middle's verdicts, one byte on the wire; a number is never given a second meaning. */
export const VERDICT = {
  granted: 1,
  queued: 2,
  soldOut: 3,
  alreadyBought: 4,
  ruleRefused: 5,
  notStarted: 6,
  paused: 7,
  ended: 8,
  unavailable: 9,
  unknownSku: 10,
  overloaded: 11,
  notOwner: 12,
  moving: 13,
} as const
/** One of Middle's verdicts. */
export type VerdictCode = (typeof VERDICT)[keyof typeof VERDICT]

/** Problem codes of the HTTP APIs (RFC 9457 `code`) with their status. */
export const PROBLEM_STATUS = {
  bad_request: 400,
  bad_ticket: 400,
  no_session: 401,
  bad_signature: 401,
  not_reserved: 403,
  blocked: 403,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  already_bought: 409,
  rule_refused: 409,
  reservation_closed: 409,
  not_payable: 409,
  wrong_state: 409,
  sold_out: 410,
  body_too_large: 413,
  unsupported_media_type: 415,
  bad_token: 422,
  token_expired: 422,
  gate_failed: 422,
  not_started: 425,
  challenge_required: 428,
  rate_limited: 429,
  internal: 500,
  overloaded: 503,
  unavailable: 503,
  paused: 503,
} as const
/** A problem code. */
export type ProblemCode = keyof typeof PROBLEM_STATUS

const TITLES: Partial<Record<ProblemCode, string>> = {
  not_started: 'The sale has not started',
  sold_out: 'Sold out',
  already_bought: 'Already bought',
  rule_refused: 'The rule of this sale does not allow it',
  no_session: 'No valid session',
}

/** A problem document (RFC 9457) with our stable `code`; `more` adds members. */
export function problemBody(code: ProblemCode, more: Record<string, unknown> = {}): Record<string, unknown> {
  const title = TITLES[code] ?? code.replaceAll('_', ' ')
  return { type: 'about:blank', title, status: PROBLEM_STATUS[code], code, ...more }
}
