/** The HTTP edge: limits on what a client may send and how slowly, problems instead of errors, who is asking. */

import { PROBLEM_STATUS, type ProblemCode, problemBody } from '@bigtap/domain'
import { type Clock, CodedError, jitterMs, type Logger, type Random } from '@bigtap/kernel'
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'

/** Bounds of the edge. A request that is over one of them gets its 4xx answer and is not looked at further. */
export interface EdgeSettings {
  readonly bodyBytesMax: number
  /** A request must be there whole by then, ms. */
  readonly requestMsMax: number
  /** Its headers must be there by then, ms. */
  readonly headersMsMax: number
  /** A socket on which nothing moves for this long is closed, ms. */
  readonly idleMsMax: number
  readonly connectionsMax: number
  /** What a client that meets a 503 is told to wait, about, ms. */
  readonly retryAfterMs: number
}

/** Default bounds; 16 KiB: the longest request here is a payment callback of under 1 KiB. */
export const EDGE_LIMITS: EdgeSettings = {
  bodyBytesMax: 16_384,
  requestMsMax: 5_000,
  headersMsMax: 3_000,
  idleMsMax: 15_000,
  connectionsMax: 16_384,
  retryAfterMs: 500,
}

/** What the edge works with. */
export interface EdgeParts {
  readonly logger: Logger
  readonly clock: Clock
  readonly random: Random
}

/** Thrown by a handler: it is answered as a problem document with this code. */
export class Problem extends CodedError {
  override readonly name = 'Problem'
  declare readonly code: ProblemCode

  constructor(code: ProblemCode, more: Record<string, unknown> = {}, cause?: unknown) {
    super({ code, message: code, data: more, cause })
  }
}

/** A fastify with our bounds; routes are added by its owner. JSON bodies arrive as bytes: see `readJson`. */
export function createEdge(settings: EdgeSettings, { logger, random }: EdgeParts): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: settings.bodyBytesMax,
    requestTimeout: settings.requestMsMax,
    connectionTimeout: settings.idleMsMax,
    keepAliveTimeout: settings.idleMsMax,
    http: { headersTimeout: settings.headersMsMax, connectionsCheckingInterval: 500, maxHeaderSize: 16_384 },
    routerOptions: { maxParamLength: 128 },
    forceCloseConnections: true,
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => {
      if (socket.writable) socket.end(rawProblem(error.code))
      else socket.destroy()
    },
  })
  app.server.maxConnections = settings.connectionsMax
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  const send = (reply: FastifyReply, code: ProblemCode, more: Record<string, unknown>): void => {
    const status = PROBLEM_STATUS[code]
    const wait = status === 503 || status === 429 ? jitterMs(settings.retryAfterMs, random.next()) : undefined
    if (wait !== undefined) reply.header('retry-after', Math.max(1, Math.ceil(wait / 1000)))
    const body = problemBody(code, wait === undefined ? more : { retryAfterMs: wait, ...more })
    const bytes = Buffer.from(JSON.stringify(body)) // to a text fastify would add a charset
    reply.code(status).header('cache-control', 'no-store').type('application/problem+json').send(bytes)
  }
  app.setNotFoundHandler((_request, reply) => send(reply, 'not_found', {}))
  app.setErrorHandler((error: FastifyError, request, reply) => {
    if (error instanceof Problem) return send(reply, error.code, error.data)
    const code = problemOf(error)
    if (code === 'internal') logger.error({ error, route: request.routeOptions.url }, 'request failed')
    send(reply, code, {})
  })
  return app
}

/** The request's body as a JSON object; throws a Problem `bad_request` for anything else. No body is an empty object. */
export function readJson(request: FastifyRequest): Record<string, unknown> {
  const { body } = request
  if (body === undefined || body === null) return {}
  try {
    const value: unknown = JSON.parse(String(body))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch (error) {
    throw new Problem('bad_request', { detail: 'the body is not JSON' }, error)
  }
  throw new Problem('bad_request', { detail: 'the body is not a JSON object' })
}

/** Which problem one of fastify's own errors is. */
function problemOf(error: FastifyError): ProblemCode {
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return 'body_too_large'
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return 'unsupported_media_type'
  const status = error.statusCode ?? 500
  return status >= 400 && status < 500 ? 'bad_request' : 'internal'
}

/** The answer to bytes that are no request: too slow, too large or not HTTP. */
function rawProblem(code: string | undefined): string {
  const problem = code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'request_timeout' : 'bad_request'
  const body = JSON.stringify(problemBody(problem))
  const lines = [
    `HTTP/1.1 ${PROBLEM_STATUS[problem]} ${problem}`,
    'content-type: application/problem+json',
    `content-length: ${body.length}`,
    'connection: close',
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}
