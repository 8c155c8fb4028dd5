/** What operators read: invariants, nodes, audit, and the stream. */

import type { Db } from '@bigtap/db'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Control } from '../control.ts'
import { onRedis } from '../faults.ts'
import type { SaleView } from '../sale-view.ts'
import { Problem } from './edge.ts'
import type { LiveStream } from './live-stream.ts'
import type { Sessions } from './session.ts'

/** Collaborators. */
export interface WatchParts {
  readonly db: Pick<Db, 'audit' | 'deadLetters'>
  readonly view: SaleView
  readonly control: Pick<Control, 'watch'>
  readonly stream: LiveStream
  readonly sessions: Sessions
}

type Query = Record<string, string | string[] | undefined>

/** Adds the reading routes. */
export function addWatchRoutes(app: FastifyInstance, { db, view, stream, sessions, control }: WatchParts): void {
  app.get('/admin/v1/invariants', async (request) => {
    sessions.reader(request)
    return onRedis(() => view.invariants(numberOf(request, 'activityId')))
  })
  app.get('/admin/v1/nodes', async (request) => {
    sessions.reader(request)
    return { nodes: view.nodes() }
  })
  app.get('/admin/v1/figures', async (request) => {
    sessions.reader(request)
    const tick = control.watch.last
    if (tick === undefined) throw new Problem('unavailable', { detail: 'no figures came from dcacenter yet' })
    return { at: tick.at, totals: tick.totals, nodes: tick.nodes }
  })
  app.get('/admin/v1/audit', async (request) => {
    sessions.reader(request)
    const texts = ['subject', 'actor', 'action'].map((name) => [name, textOf(request, name)] as const)
    const numbers = ['from', 'to', 'before', 'limit'].map((name) => [name, numberOf(request, name)] as const)
    const given = [...texts, ...numbers].filter(([, value]) => value !== undefined)
    return { entries: await db.audit.list(Object.fromEntries(given)) }
  })
  app.get('/admin/v1/stream', async (request, reply) => {
    sessions.reader(request)
    if (stream.isFull) throw new Problem('overloaded', { detail: 'too many streams' })
    reply.hijack()
    stream.add(reply.raw, reply.getHeaders())
  })
}

function textOf(request: FastifyRequest, name: string): string | undefined {
  const text = (request.query as Query)[name]
  if (text === undefined || (typeof text === 'string' && text.length <= 200)) return text
  throw new Problem('bad_request', { errors: [`${name} must be one text of at most 200 characters`] })
}

function numberOf(request: FastifyRequest, name: string): number | undefined {
  const text = (request.query as Query)[name]
  if (text === undefined) return undefined
  if (typeof text === 'string' && /^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new Problem('bad_request', { errors: [`${name} must be a whole number`] })
}
