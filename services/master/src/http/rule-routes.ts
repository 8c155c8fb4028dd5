/** Rules, alerts, and what rules ask an operator for. */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Control } from '../control.ts'
import type { ReadyRule } from '../rule-desk.ts'
import type { SaleDesk } from '../sale-desk.ts'
import { Problem } from './edge.ts'
import { changer, idOf } from './routes.ts'
import type { Sessions } from './session.ts'

/** Collaborators. */
export interface RuleRouteParts {
  readonly desk: SaleDesk
  readonly control: Pick<Control, 'rules' | 'watch' | 'actions' | 'alerts'>
  readonly sessions: Sessions
}

const RULES = '/admin/v1/rules'
const ALERTS = '/admin/v1/alerts'
const PENDING = '/admin/v1/pending'

/** Adds them. */
export function addRuleRoutes(app: FastifyInstance, parts: RuleRouteParts): void {
  addRules(app, parts)
  addAlerts(app, parts)
  addPending(app, parts)
}

function addRules(app: FastifyInstance, { desk, control, sessions }: RuleRouteParts): void {
  const { rules, watch } = control
  const change = changer(app, desk, sessions)
  app.get(RULES, async (request) => {
    sessions.reader(request)
    return { rules: rules.rules.map(({ rule }) => rule) }
  })
  app.get(`${RULES}/:id`, async (request) => {
    sessions.reader(request)
    return rules.get(ruleIdOf(request)).rule
  })
  change('POST', RULES, 201, ({ actor, body }) => rules.create(actor, body))
  change('POST', `${RULES}/dry-run`, 200, ({ body }) => triedOf(watch, rules.tried(body)))
  change('PATCH', `${RULES}/:id`, 200, ({ actor, body, request }) => rules.patch(actor, ruleIdOf(request), body))
  change('DELETE', `${RULES}/:id`, 204, ({ actor, request }) => rules.remove(actor, ruleIdOf(request)))
  change('POST', `${RULES}/:id/dry-run`, 200, ({ body, request }) => {
    const { id: _id, version: _version, ...stored } = rules.get(ruleIdOf(request)).rule
    return triedOf(watch, rules.tried({ ...stored, ...body }))
  })
}

function addAlerts(app: FastifyInstance, { desk, control, sessions }: RuleRouteParts): void {
  const { alerts } = control
  const change = changer(app, desk, sessions)
  app.get(ALERTS, async (request) => {
    sessions.reader(request)
    const { state } = request.query as { state?: string }
    return { alerts: alerts.list(state === 'firing') }
  })
  change('POST', `${ALERTS}/:key/acknowledge`, 200, ({ actor, request }) =>
    alerts.acknowledge(actor, textOf(request, 'key')),
  )
  change('POST', `${ALERTS}/:key/silence`, 200, ({ actor, body, request }) =>
    alerts.silence(actor, textOf(request, 'key'), body),
  )
}

function addPending(app: FastifyInstance, { desk, control, sessions }: RuleRouteParts): void {
  const { watch, actions } = control
  const { clock } = desk.parts
  const change = changer(app, desk, sessions)
  const taken = (request: FastifyRequest) => {
    const approval = watch.approvals.take(clock.now(), textOf(request, 'id'))
    if (approval === undefined) throw new Problem('not_found', { detail: 'nothing waits under this id' })
    return approval
  }
  app.get(PENDING, async (request) => {
    sessions.reader(request)
    return { pending: watch.approvals.list(clock.now()) }
  })
  change('POST', `${PENDING}/:id/yes`, 200, async ({ actor, request }) => {
    const approval = taken(request)
    await actions.actFor(actor, approval)
    return approval
  })
  change('POST', `${PENDING}/:id/no`, 200, async ({ actor, request }) => {
    const approval = taken(request)
    const { rule, subject, actions: wanted } = approval
    await desk.audit(actor, 'rule.decline', `rule:${rule}`, undefined, { subject, actions: wanted })
    return approval
  })
}

function triedOf(watch: Control['watch'], ready: ReadyRule) {
  return watch.dryRun(ready).then((tried) => ({ ...tried, when: ready.rule.when }))
}

function ruleIdOf(request: FastifyRequest): number | undefined {
  return idOf(textOf(request, 'id'))
}

function textOf(request: FastifyRequest, name: 'id' | 'key'): string {
  return (request.params as Record<string, string>)[name] ?? ''
}
