/** Tools of operators: imports of reservations, Middle's records, and who may sign in. */

import { Readable } from 'node:stream'
import { activityKey } from '@bigtap/domain'
import type { Reservations } from '@bigtap/store'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Control } from '../control.ts'
import type { SeatFormat } from '../core/seat-lines.ts'
import { onRedis } from '../faults.ts'
import { forbid, type SaleDesk } from '../sale-desk.ts'
import { Problem } from './edge.ts'
import { changer, idOf } from './routes.ts'
import { adminOnly, type Sessions } from './session.ts'

/** Collaborators. */
export interface ToolRouteParts {
  readonly desk: SaleDesk
  readonly control: Pick<Control, 'imports' | 'records'>
  readonly reservations: Pick<Reservations, 'count'>
  readonly sessions: Sessions
}

const SEATS = '/admin/v1/activities/:a/reservations'
/** Bodies of an import; they are read as they come. */
export const STREAM_TYPES: Readonly<Record<string, SeatFormat>> = {
  'text/csv': 'csv',
  'application/x-ndjson': 'ndjson',
}

/** Adds them. */
export function addToolRoutes(app: FastifyInstance, parts: ToolRouteParts): void {
  const { desk, control, reservations, sessions } = parts
  app.addContentTypeParser(Object.keys(STREAM_TYPES), (_request, payload, done) => done(null, payload))
  app.get(SEATS, async (request) => {
    sessions.reader(request)
    const { id } = desk.sale(activityOf(request)).activity
    return { count: await onRedis(() => reservations.count(id)), imports: control.imports.list(id) }
  })
  app.post(SEATS, (request, reply) => importSeats(request, reply, parts))
  changer(app, desk, sessions, 'admin')('POST', '/admin/v1/middle/records/clear', 202, ({ actor, body }) =>
    control.records.clear(actor, body),
  )
  app.get('/admin/v1/operators', async (request) => {
    adminOnly(sessions.reader(request))
    return { operators: sessions.accounts() }
  })
}

/** Answers with NDJSON: how far the import is, twice a second, and at last how it ended. */
async function importSeats(request: FastifyRequest, reply: FastifyReply, parts: ToolRouteParts): Promise<FastifyReply> {
  const { desk, control, sessions } = parts
  const actor = sessions.changer(request)
  const format = STREAM_TYPES[(request.headers['content-type'] ?? '').split(';')[0]?.trim() ?? '']
  if (format === undefined || !(request.body instanceof Readable)) throw new Problem('unsupported_media_type')
  const skipLines = skipOf(request)
  const activityId = activityOf(request)
  await desk.change(async () => {
    const { id, state } = desk.sale(activityId).activity
    if (state === 'archived') forbid('the activity is archived')
    control.imports.checkRoom()
    await desk.audit(actor, 'reservations.import', activityKey(id), undefined, { format, skipLines })
  })
  const { id } = desk.sale(activityId).activity
  return reply.type('application/x-ndjson').send(Readable.from(told(id, request.body, { format, skipLines })))

  async function* told(a: number, body: Readable, how: { format: SeatFormat; skipLines: number }) {
    for await (const progress of control.imports.run(a, body, how)) {
      if (progress.state !== 'running') {
        const { badLines: _badLines, ...after } = progress
        desk.parts.record.note({
          ...{
            actor: actor.name,
            role: actor.role,
            action: `reservations.${progress.state}`,
            subject: activityKey(a),
            after,
          },
        })
      }
      yield `${JSON.stringify(progress)}\n`
    }
  }
}

function skipOf(request: FastifyRequest): number {
  const { skipLines } = request.query as { skipLines?: string }
  if (skipLines === undefined) return 0
  if (/^\d{1,12}$/.test(skipLines)) return Number(skipLines)
  throw new Problem('bad_request', { errors: ['skipLines must be a whole number'] })
}

function activityOf(request: FastifyRequest): number | undefined {
  return idOf((request.params as { a?: string }).a)
}
