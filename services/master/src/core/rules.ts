/** Rules of the rule engine: when something holds for a time, an alert is raised and something may be done. */

import { Fields, type Parsed } from '@bigtap/domain'
import type { Severity } from './alarms.ts'

/** What a rule does when it fires. Without ids an action is about the SKU that the rule fired for, or about all that are running. */
export type RuleAction =
  | { readonly type: 'alert' }
  | {
      readonly type: 'rate'
      /** Of the pace in force, or of the measured rate where there is no pace. */
      readonly factor?: number
      readonly pacePerSecond?: number
      readonly activityId?: number
      readonly skuId?: number
    }
  | { readonly type: 'pause-sku'; readonly activityId?: number; readonly skuId?: number }

/** A rule. */
export interface Rule {
  readonly name: string
  /** CEL over `totals` and at most one of `sku` and `node`; one that names `sku` is tried for each SKU. */
  readonly when: string
  /** How long it must hold before the rule fires, and not hold before it is over. */
  readonly forSeconds: number
  readonly clearSeconds: number
  readonly severity: Severity
  readonly actions: readonly RuleAction[]
  /** Do its actions wait for an operator's yes? */
  readonly needsYes: boolean
  /** Is the webhook told? */
  readonly webhook: boolean
  readonly enabled: boolean
}

/** A rule that is stored. */
export interface StoredRule extends Rule {
  readonly id: number
  readonly version: number
}

/** Bounds of rules. */
export const RULE_LIMITS = { rulesMax: 100, whenLengthMax: 500, actionsMax: 8, secondsMax: 3_600 } as const

const SEVERITIES = ['info', 'warning', 'critical'] as const
const KNOWN = ['name', 'when', 'forSeconds', 'clearSeconds', 'severity', 'actions', 'needsYes', 'webhook', 'enabled']

/** Reads a rule, but for its condition, which `compile` checks. */
export function parseRule(
  value: unknown,
  compile: (when: string) => Parsed<{ uses: readonly string[] }>,
): Parsed<Rule> {
  const fields = new Fields(value)
  const seconds = { min: 0, max: RULE_LIMITS.secondsMax, fraction: true }
  const rule: Rule = {
    name: fields.text('name', 100),
    when: fields.text('when', RULE_LIMITS.whenLengthMax),
    forSeconds: fields.number('forSeconds', { ...seconds, initial: 0 }),
    clearSeconds: fields.number('clearSeconds', { ...seconds, initial: 5 }),
    severity: fields.oneOf('severity', SEVERITIES, 'warning'),
    actions: fields.list('actions', RULE_LIMITS.actionsMax, parseAction),
    needsYes: fields.boolean('needsYes', true),
    webhook: fields.boolean('webhook', true),
    enabled: fields.boolean('enabled', true),
  }
  if (fields.raw('actions') === undefined) fields.errors.push('actions must name at least one action')
  if (typeof value === 'object' && value !== null)
    for (const name of Object.keys(value))
      if (!KNOWN.includes(name)) fields.errors.push(`a rule has no field "${name.slice(0, 40)}"`)
  if (rule.when !== '') {
    const compiled = compile(rule.when)
    if (!compiled.ok) fields.errors.push(...compiled.errors)
    else if (rule.actions.some((action) => lacksSku(action, compiled.value.uses)))
      fields.errors.push('pause-sku needs activityId and skuId, or a condition that names sku')
  }
  return fields.done(rule)
}

/** Does the rule change the sale without asking anybody? Only an admin may let it. */
export function actsAlone({ actions, needsYes }: Rule): boolean {
  return !needsYes && actions.some(({ type }) => type !== 'alert')
}

function parseAction(value: unknown, path: string): Parsed<RuleAction> {
  const fields = new Fields(value, path)
  const type = fields.oneOf('type', ['alert', 'rate', 'pause-sku'] as const)
  if (fields.errors.length > 0 || type === 'alert') return fields.done({ type: 'alert' })
  const ids = { ...optionalId(fields, 'activityId'), ...optionalId(fields, 'skuId') }
  if (fields.raw('skuId') !== undefined && fields.raw('activityId') === undefined)
    fields.errors.push(`${path}.skuId needs an activityId`)
  if (type === 'pause-sku') return fields.done({ type, ...ids })
  const [factor, pace] = [fields.raw('factor'), fields.raw('pacePerSecond')]
  if ((factor === undefined) === (pace === undefined)) fields.errors.push(`${path} needs factor or pacePerSecond`)
  const how =
    pace === undefined
      ? { factor: fields.number('factor', { min: 0.01, max: 10, fraction: true, initial: 1 }) }
      : { pacePerSecond: fields.number('pacePerSecond', { min: 0.01, max: 1_000_000, fraction: true }) }
  return fields.done({ type, ...how, ...ids })
}

function optionalId(fields: Fields, name: 'activityId' | 'skuId'): Record<string, number> {
  return fields.raw(name) === undefined ? {} : { [name]: fields.id(name) }
}

function lacksSku(action: RuleAction, uses: readonly string[]): boolean {
  return action.type === 'pause-sku' && action.skuId === undefined && !uses.includes('sku')
}
