/**
 * The way into master, whoever leads: the leader answers the admin API from its reign, a standby hands each request on.
 *
 * ```
 *   request ─► /admin/v1/… ─┬ this master leads ──► the reign's own routes
 *                           ├ another one leads ──► forwarded whole: method, body, cookies, CSRF header, event stream
 *                           └ nobody, or it was forwarded already ──► 503 unavailable, Retry-After
 * ```
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import replyFrom from '@fastify/reply-from'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from './edge.ts'
import { FORWARDED_FOR, type ForwardingProof } from './forwarding-proof.ts'

/** What answers the admin API while this master leads. */
export interface AdminApp {
  routing(request: IncomingMessage, response: ServerResponse): void
}

/** Who answers. */
export interface ForwarderParts {
  /** The reign's routes, once it has begun. */
  app(): AdminApp | undefined
  /** host:port of the leader, when it is another master. */
  leaderAddress(): string | undefined
  readonly proof: ForwardingProof
}

/** Bounds of forwarding: connections to the leader, and how long it may take to connect, to begin and between two pieces. */
export const FORWARD_LIMITS = { connections: 64, connectMs: 500, headersMs: 6_000, bodyMs: 15_000 } as const

const METHODS = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'] as const

/** Adds the admin API to the server. */
export function addForwarder(app: FastifyInstance, { app: leading, leaderAddress, proof }: ForwarderParts): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload)) // the body is handed on as it comes
  const { connections, connectMs, headersMs, bodyMs } = FORWARD_LIMITS
  app.register(replyFrom, {
    undici: { connections, connect: { timeout: connectMs }, headersTimeout: headersMs, bodyTimeout: bodyMs },
    disableRequestLogging: true,
  })
  app.route({
    method: [...METHODS],
    url: '/admin/v1/*',
    onRequest: (request, reply, done) => {
      const own = leading()
      if (own === undefined) return done()
      reply.hijack()
      own.routing(request.raw, reply.raw)
    },
    handler: (request, reply) => {
      const address = leaderAddress()
      if (address === undefined || isForwarded(request))
        throw new Problem('unavailable', { detail: 'no master leads at the moment' })
      return reply.from(`http://${address}${request.url}`, {
        rewriteRequestHeaders: (_request, headers) => ({ ...headers, [FORWARDED_FOR]: proof.sign(request.ip) }),
        retryDelay: () => null,
        onError: (failed) => {
          failed.send(new Problem('unavailable', { detail: 'the leading master does not answer' }))
        },
      })
    },
  })
}

function isForwarded(request: FastifyRequest): boolean {
  return request.headers[FORWARDED_FOR] !== undefined
}
