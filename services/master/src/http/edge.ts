/** The HTTP edge of the admin API: bounds on what a client may send, problems instead of errors, safe headers. */

import { PROBLEM_STATUS, type ProblemCode, problemBody } from '@bigtap/domain'
import { CodedError, hasCode, type Logger } from '@bigtap/kernel'
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { isAway } from '../faults.ts'

/** Bounds of the edge. */
export const EDGE_LIMITS = {
  bodyBytesMax: 65_536,
  requestMsMax: 5_000,
  /** A request that is read as it comes: an import of millions of lines. */
  streamMsMax: 1_800_000,
  headersMsMax: 3_000,
  idleMsMax: 15_000,
  connectionsMax: 256,
  retryAfterSeconds: 1,
} as const

/** Nothing from elsewhere, no inline code: the console is three files of our own. */
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

/** How long an answer may take to arrive before its connection is cut off, ms. */
const ANSWER_MS = 1_000

/** Thrown by a handler: it is answered as a problem document with this code. */
export class Problem extends CodedError {
  override readonly name = 'Problem'
  declare readonly code: ProblemCode

  constructor(code: ProblemCode, more: Record<string, unknown> = {}, cause?: unknown) {
    super({ code, message: code, data: more, cause })
  }
}

/** A fastify with our bounds; routes are added by its owner. JSON bodies arrive as bytes: see `readJson`. */
export function createEdge({ logger }: { logger: Logger }): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: EDGE_LIMITS.bodyBytesMax,
    requestTimeout: EDGE_LIMITS.streamMsMax,
    connectionTimeout: EDGE_LIMITS.idleMsMax,
    keepAliveTimeout: EDGE_LIMITS.idleMsMax,
    http: { headersTimeout: EDGE_LIMITS.headersMsMax, connectionsCheckingInterval: 500 },
    routerOptions: { maxParamLength: 128 },
    forceCloseConnections: true,
    return503OnClosing: false,
  })
  app.server.maxConnections = EDGE_LIMITS.connectionsMax
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.addHook('onRequest', async (request, reply) => {
    if (isStream(request)) cutOffWhenAnswered(request, reply)
    else cutOffWhenLate(request)
    reply.header('content-security-policy', CSP).header('x-content-type-options', 'nosniff')
    reply.header('referrer-policy', 'no-referrer').header('cache-control', 'no-store')
  })
  app.setNotFoundHandler((_request, reply) => send(reply, 'not_found', {}))
  app.setErrorHandler((error: FastifyError, request, reply) => {
    if (error instanceof Problem) return send(reply, error.code, error.data)
    const code = problemOf(error)
    if (code === 'internal') logger.error({ error, route: request.routeOptions.url }, 'request failed')
    else if (code === 'unavailable') logger.warn({ error, route: request.routeOptions.url }, 'request not served')
    send(reply, code, {})
  })
  return app
}

/** Only imports may take long. */
function isStream({ headers, method, url }: FastifyRequest): boolean {
  const isLines = /^(text\/csv|application\/x-ndjson)\b/.test(headers['content-type'] ?? '')
  return isLines && method === 'POST' && /\/reservations(\?|$)/.test(url)
}

/** Who was refused may not go on sending; the answer gets its time to arrive. */
function cutOffWhenAnswered({ raw }: FastifyRequest, reply: FastifyReply): void {
  reply.raw.once('finish', () => {
    if (!raw.complete) setTimeout(() => raw.destroy(), ANSWER_MS).unref()
  })
}

function cutOffWhenLate({ raw }: FastifyRequest): void {
  if (raw.complete) return
  const timer = setTimeout(() => void (raw.complete || raw.destroy()), EDGE_LIMITS.requestMsMax)
  raw.once('end', () => clearTimeout(timer))
  raw.once('close', () => clearTimeout(timer))
}

/** The request's body as a JSON object; throws a Problem `bad_request` for anything else. No body is an empty object. */
export function readJson(request: FastifyRequest): Record<string, unknown> {
  const { body } = request
  if (body === undefined || body === null || String(body) === '') return {}
  try {
    const value: unknown = JSON.parse(String(body))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch (error) {
    throw new Problem('bad_request', { errors: ['the body is not JSON'] }, error)
  }
  throw new Problem('bad_request', { errors: ['the body is not a JSON object'] })
}

function send(reply: FastifyReply, code: ProblemCode, more: Record<string, unknown>): void {
  const status = PROBLEM_STATUS[code]
  if (status === 503) reply.header('retry-after', EDGE_LIMITS.retryAfterSeconds)
  if (status === 429) reply.header('retry-after', Math.max(1, Math.ceil(Number(more.retryAfterMs ?? 1_000) / 1_000)))
  const bytes = Buffer.from(JSON.stringify(problemBody(code, more))) // to a text fastify would add a charset
  reply.code(status).type('application/problem+json').send(bytes)
}

function problemOf(error: FastifyError): ProblemCode {
  if (isAway(error)) return 'unavailable'
  if (hasCode(error, 'DB_REJECTED')) return 'bad_request'
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return 'body_too_large'
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return 'unsupported_media_type'
  const status = error.statusCode ?? 500
  return status >= 400 && status < 500 ? 'bad_request' : 'internal'
}
