/** Verdicts about abuse, and the documents by which they are given. */

import { SUBJECT_KINDS, TIER_COUNT } from '@bigtap/domain'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ABUSE_DOCUMENTS, type AbuseDocuments } from '../abuse-documents.ts'
import type { SaleDesk } from '../sale-desk.ts'
import { VERDICT_LIMITS, type VerdictDesk, type VerdictQuery } from '../verdict-desk.ts'
import { Problem } from './edge.ts'
import { changer, howOf } from './routes.ts'
import type { Sessions } from './session.ts'

/** Collaborators. */
export interface VerdictRouteParts {
  readonly desk: SaleDesk
  readonly verdicts: VerdictDesk
  readonly abuse: AbuseDocuments
  readonly sessions: Sessions
}

/** Verdicts; what is changed here does not wait for a document that is being tried. */
export const VERDICTS = '/admin/v1/verdicts'
const ABUSE = '/admin/v1/abuse'
const LIMIT = 100

/** Adds them. */
export function addVerdictRoutes(app: FastifyInstance, parts: VerdictRouteParts): void {
  addVerdicts(app, parts)
  addDocuments(app, parts)
}

function addVerdicts(app: FastifyInstance, { desk, verdicts, sessions }: VerdictRouteParts): void {
  const change = changer(app, desk, sessions)
  app.get(VERDICTS, async (request) => {
    sessions.reader(request)
    return verdicts.list(readQuery(request))
  })
  app.get(`${VERDICTS}/:subject`, async (request) => {
    sessions.reader(request)
    return verdicts.explain(subjectOf(request))
  })
  change('POST', VERDICTS, 201, ({ actor, body }) => verdicts.add(actor, body))
  change('POST', `${VERDICTS}/:subject/lift`, 200, ({ actor, body, request }) =>
    verdicts.lift(actor, subjectOf(request), body),
  )
  change('DELETE', `${VERDICTS}/:subject`, 200, ({ actor, request }) => verdicts.lift(actor, subjectOf(request)))
}

function addDocuments(app: FastifyInstance, { desk, abuse, sessions }: VerdictRouteParts): void {
  const change = changer(app, desk, sessions)
  for (const name of ABUSE_DOCUMENTS) {
    const path = `${ABUSE}/${name}`
    app.get(path, async (request) => {
      sessions.reader(request)
      return abuse.shown(name)
    })
    app.get(`${path}/versions`, async (request) => {
      sessions.reader(request)
      return { versions: await abuse.versions(name) }
    })
    change('PUT', path, 200, ({ actor, body, request }) => abuse.set(actor, name, body, howOf(actor, request)))
    change('DELETE', path, 200, ({ actor }) => abuse.remove(actor, name))
    change('POST', `${path}/dry-run`, 200, ({ body }) => abuse.dryRun(name, body))
    change('POST', `${path}/rollback`, 200, ({ actor, body, request }) =>
      abuse.rollback(actor, name, body, howOf(actor, request)),
    )
  }
}

function subjectOf(request: FastifyRequest): string {
  return (request.params as { subject?: string }).subject ?? ''
}

/** Reads what is asked for; all that is wrong is said at once. */
function readQuery(request: FastifyRequest): VerdictQuery {
  const given = request.query as Readonly<Record<string, unknown>>
  const errors: string[] = []
  const read = <T>(name: string, form: RegExp, wanted: string, as: (text: string) => T): T | undefined => {
    const value = given[name]
    if (value === undefined) return undefined
    if (typeof value === 'string' && form.test(value)) return as(value)
    errors.push(`${name} must be ${wanted}`)
    return undefined
  }
  const query = {
    kind: read('kind', new RegExp(`^(${SUBJECT_KINDS.join('|')})$`), `one of ${SUBJECT_KINDS.join(', ')}`, String),
    subject: read('subject', /^.{1,64}$/, 'the name of a subject', String),
    tier: read('tier', new RegExp(`^[0-${TIER_COUNT - 1}]$`), `0 to ${TIER_COUNT - 1}`, Number),
    by: read('by', /^[\x20-\x7e]{1,64}$/, 'a name', String),
    isShadow: read('isShadow', /^(true|false)$/, 'true or false', (text) => text === 'true'),
    cursor: read('cursor', /^\d{1,20}$/, 'the cursor of the page before', String),
    limit: read('limit', /^[1-9]\d{0,2}$/, `1 to ${VERDICT_LIMITS.listMax}`, Number) ?? LIMIT,
  }
  if (query.limit > VERDICT_LIMITS.listMax) errors.push(`limit must be 1 to ${VERDICT_LIMITS.listMax}`)
  if (errors.length > 0) throw new Problem('bad_request', { errors })
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)) as unknown as VerdictQuery
}
