/** The admin API: reads for everybody who is signed in, changes with CSRF header and role, one at a time. */

import { ACTIVITY_EVENTS, type ActivityEvent, parseId } from '@bigtap/domain'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Sale } from '../book.ts'
import { withoutSeed } from '../core/draw-seed.ts'
import type { PolicyDesk } from '../policy-desk.ts'
import type { SaleDesk } from '../sale-desk.ts'
import type { StockDesk } from '../stock-desk.ts'
import { Problem, readJson } from './edge.ts'
import { type Actor, adminOnly, type Sessions } from './session.ts'

/** Collaborators. */
export interface RouteParts {
  readonly desk: SaleDesk
  readonly stock: StockDesk
  readonly policies: PolicyDesk
  readonly sessions: Sessions
}

type Body = Record<string, unknown>
/** Activity and SKU of the path. */
interface Ids {
  readonly a: number | undefined
  readonly s: number | undefined
}
/** A change that somebody may make. */
export interface Change {
  readonly actor: Actor
  readonly ids: Ids
  readonly body: Body
  readonly request: FastifyRequest
}

const A = '/admin/v1/activities'
const S = `${A}/:a/skus`

/** Adds activities, SKUs, stock, policies and rate. */
export function addSaleRoutes(app: FastifyInstance, parts: RouteParts): void {
  addActivityRoutes(app, parts)
  addSkuRoutes(app, parts)
  addPolicyRoutes(app, parts)
}

function addActivityRoutes(app: FastifyInstance, { desk, sessions }: RouteParts): void {
  const change = changer(app, desk, sessions)
  app.get(A, async (request) => {
    sessions.reader(request)
    return { activities: [...desk.parts.book.sales.values()].map(activityOf) }
  })
  app.get(`${A}/:a`, async (request) => {
    sessions.reader(request)
    const sale = desk.sale(idsOf(request).a)
    return { ...activityOf(sale), skus: [...sale.skus.values()] }
  })
  change('POST', A, 201, async ({ actor, body }) => ({ id: await desk.createActivity(actor, body) }))
  change('PATCH', `${A}/:a`, 200, async ({ actor, ids, body, request }) =>
    activityOf(await desk.patchActivity(actor, ids.a, body, howOf(actor, request))),
  )
  app.get(`${A}/:a/versions`, async (request) => {
    sessions.reader(request)
    return { versions: await desk.parts.versions.list(String(desk.sale(idsOf(request).a).activity.id)) }
  })
  change('POST', `${A}/:a/rollback`, 200, async ({ actor, ids, body, request }) =>
    activityOf(await desk.rollbackActivity(actor, ids.a, body.version, howOf(actor, request))),
  )
  change('DELETE', `${A}/:a`, 204, ({ actor, ids }) => desk.deleteActivity(actor, ids.a))
  change('POST', `${A}/:a/actions/:action`, 200, async ({ actor, ids, request }) => {
    const event = eventOf((request.params as { action: string }).action)
    if (event === 'reset') adminOnly(actor, 'only an admin may reset')
    return activityOf(await desk.act(actor, ids.a, event, howOf(actor, request).isForced))
  })
}

function addSkuRoutes(app: FastifyInstance, { desk, stock, sessions }: RouteParts): void {
  const change = changer(app, desk, sessions)
  app.get(S, async (request) => {
    sessions.reader(request)
    const sale = desk.sale(idsOf(request).a)
    return { skus: [...sale.skus.keys()].map((skuId) => skuOf(desk, sale, skuId)) }
  })
  app.get(`${S}/:s`, async (request) => {
    sessions.reader(request)
    const { a, s } = idsOf(request)
    return skuOf(desk, desk.sale(a), s)
  })
  change('POST', S, 201, async ({ actor, ids, body }) => ({ id: await desk.createSku(actor, ids.a, body) }))
  change('PATCH', `${S}/:s`, 200, async ({ actor, ids, body, request }) => {
    await desk.patchSku(actor, ids.a, ids.s, body, howOf(actor, request))
    return skuOf(desk, desk.sale(ids.a), ids.s)
  })
  change('DELETE', `${S}/:s`, 204, ({ actor, ids }) => desk.deleteSku(actor, ids.a, ids.s))
  change('POST', `${S}/:s/stock`, 200, async ({ actor, ids, body, request }) => {
    const requestId = keyOf(request)
    const answer = await stock.change(actor, { activityId: ids.a, skuId: ids.s, requestId }, body)
    return 'confirmId' in answer ? new Accepted(answer) : answer
  })
  change('POST', '/admin/v1/confirmations/:id', 200, ({ actor, request }) =>
    stock.confirm(actor, (request.params as { id: string }).id),
  )
}

function addPolicyRoutes(app: FastifyInstance, { desk, policies, sessions }: RouteParts): void {
  const change = changer(app, desk, sessions)
  app.get('/admin/v1/policies', async (request) => {
    sessions.reader(request)
    const skus = [...desk.parts.book.sales.values()].flatMap((sale) => [...sale.skus.values()])
    return { policies: skus.map(({ activityId, id, policy }) => ({ activityId, skuId: id, policy })) }
  })
  app.get(`${S}/:s/policies`, async (request) => {
    sessions.reader(request)
    const { a, s } = idsOf(request)
    return policies.versions(a, s)
  })
  change('POST', `${S}/:s/policies`, 201, ({ actor, ids, body, request }) =>
    policies.set(actor, ids.a, ids.s, body, howOf(actor, request)),
  )
  change('POST', `${S}/:s/policies/dry-run`, 200, ({ ids, body }) => policies.dryRun(ids.a, ids.s, body))
  change('POST', `${S}/:s/policies/rollback`, 200, ({ actor, ids, body, request }) =>
    policies.rollback(actor, ids.a, ids.s, body, howOf(actor, request)),
  )
  change('POST', '/admin/v1/rate', 200, ({ actor, body }) => policies.setRate(actor, body))
}

/** Answered with 202: noted, not done yet. */
class Accepted {
  readonly body: unknown

  constructor(body: unknown) {
    this.body = body
  }
}

/** Adds routes that change something: for operators, or for admins only. */
export function changer(
  app: FastifyInstance,
  desk: SaleDesk,
  sessions: Sessions,
  least: 'operator' | 'admin' = 'operator',
) {
  return (
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    url: string,
    status: number,
    work: (change: Change) => Promise<unknown> | unknown,
  ) =>
    app.route({
      method,
      url,
      handler: async (request, reply) => {
        const actor = sessions.changer(request, least)
        const change: Change = { actor, ids: idsOf(request), body: readJson(request), request }
        const answer = await desk.change(async () => work(change), { isUrgent: isUrgent(change) })
        if (answer instanceof Accepted) return reply.code(202).send(answer.body)
        return reply.code(status).send(answer)
      },
    })
}

/** Stopping a sale or a buyer, or letting them go on, does not wait for a change that is being tried. */
function isUrgent({ body, request }: Change): boolean {
  if (request.routeOptions.url?.startsWith('/admin/v1/verdicts')) return true
  const { action } = request.params as { action?: string }
  if (action !== undefined) return ['pause', 'resume', 'close', 'open'].includes(action)
  return request.method === 'PATCH' && Object.keys(body).join() === 'paused'
}

/** `?force=true` does without the trial, or without the nodes that are late; only an admin takes that risk. */
export function howOf(actor: Actor, request: FastifyRequest): { isForced: boolean } {
  const isForced = (request.query as { force?: string }).force === 'true'
  if (isForced) adminOnly(actor, 'only an admin may force')
  return { isForced }
}

/** An activity as it is answered; the seed of a draw is nobody's to see before it is over. */
function activityOf({ activity, revision, waitingFor }: Sale) {
  return { ...withoutSeed(activity), revision, waitingFor }
}

function idsOf(request: FastifyRequest): Ids {
  const { a, s } = request.params as { a?: string; s?: string }
  return { a: idOf(a), s: idOf(s) }
}

/** A SKU as it is answered: its document has the policy in force; what was defined stands beside it. */
function skuOf(desk: SaleDesk, sale: Sale, skuId: number | undefined) {
  const { doc, policyPlan } = desk.skuDefinition(sale, skuId)
  return { ...desk.sku(sale, skuId), basePolicy: doc.policy, policyPlan, trigger: sale.plans.get(doc.id)?.active ?? -1 }
}

/** A number in a path; undefined when it is none. */
export function idOf(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,15}$/.test(text) ? parseId(Number(text)) : undefined
}

function eventOf(action: string): ActivityEvent {
  const event = ACTIVITY_EVENTS.find((one) => one === action)
  if (event === undefined) throw new Problem('not_found', { detail: `there is no action "${action}"` })
  return event
}

/** A repeat with the same key changes nothing twice. */
function keyOf(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key === 'string' && /^[\w-]{8,64}$/.test(key)) return key
  throw new Problem('bad_request', { errors: ['Idempotency-Key must be 8 to 64 letters, digits, _ or -'] })
}
