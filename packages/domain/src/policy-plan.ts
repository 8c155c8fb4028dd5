/** The plan of a SKU's policy: triggers by time and by stock; the first that matches wins, none is the base policy. */

import { Fields, type Parsed } from './checks.ts'
import { type Policy, parsePolicy, STOCK_MAX } from './documents.ts'

/** When a trigger matches: from (inclusive) and to (exclusive), seconds since the opening and free units; all that is named must hold. */
export interface PolicyWhen {
  readonly fromSeconds?: number
  readonly toSeconds?: number
  readonly freeFrom?: number
  readonly freeTo?: number
}

/** What a trigger may change. The ledger was made with `overbook` and `holdSeconds`: no trigger changes them. */
export type PolicyPart = Partial<Omit<Policy, 'overbook' | 'holdSeconds'>>

/** One trigger. */
export interface PolicyTrigger {
  readonly when: PolicyWhen
  readonly policy: PolicyPart
}

/** The triggers of a SKU, the first that matches wins. */
export type PolicyPlan = readonly PolicyTrigger[]

/** Most triggers of one SKU. */
export const PLAN_TRIGGERS_MAX = 32

const SECONDS_MAX = 31_536_000
const PART_FIELDS = ['pacePerSecond', 'taperAt', 'taperPacePerSecond', 'trickleAt', 'tokenSeconds'] as const
const FIXED_FIELDS = ['overbook', 'holdSeconds']
const WHEN_FIELDS = ['fromSeconds', 'toSeconds', 'freeFrom', 'freeTo']

/** Index of the first trigger that matches, -1 when none does. */
export function matchTrigger(plan: PolicyPlan, at: { openForSeconds: number; free: number }): number {
  return plan.findIndex(({ when }) => {
    const {
      fromSeconds = 0,
      toSeconds = Number.POSITIVE_INFINITY,
      freeFrom = 0,
      freeTo = Number.POSITIVE_INFINITY,
    } = when
    const isInTime = at.openForSeconds >= fromSeconds && at.openForSeconds < toSeconds
    return isInTime && at.free >= freeFrom && at.free < freeTo
  })
}

/** The policy with one trigger of its plan in force; the base for -1. */
export function applyTrigger(base: Policy, plan: PolicyPlan, index: number): Policy {
  return { ...base, ...plan[index]?.policy }
}

/** Reads a plan, and tries every trigger on the base policy: a plan is stored only when each of its policies is sound. */
export function parsePolicyPlan(value: unknown, base: Policy, path = 'policyPlan'): Parsed<PolicyPlan> {
  const fields = new Fields({ plan: value })
  const plan = fields.list('plan', PLAN_TRIGGERS_MAX, (item, itemPath) =>
    parseTrigger(item, base, itemPath.replace('plan', path)),
  )
  const errors = fields.errors.map((error) => error.replace(/^plan must/, `${path} must`))
  return errors.length === 0 ? { ok: true, value: plan } : { ok: false, errors }
}

function parseTrigger(value: unknown, base: Policy, path: string): Parsed<PolicyTrigger> {
  const fields = new Fields(value, path)
  const when = fields.nested('when', (one, at) => parseWhen(one, at.replace(`${path}when`, `${path}.when`)), {})
  const given = fields.raw('policy')
  const part = parsePart(given, base, `${path}.policy`)
  if (!part.ok) fields.errors.push(...part.errors)
  return fields.done({ when, policy: part.ok ? part.value : {} })
}

function parseWhen(value: unknown, path: string): Parsed<PolicyWhen> {
  const fields = new Fields(value, path)
  const optional = (name: string, bounds: { min: number; max: number; fraction?: boolean }) =>
    fields.raw(name) === undefined ? {} : { [name]: fields.number(name, bounds) }
  const seconds = { min: 0, max: SECONDS_MAX, fraction: true }
  const units = { min: 0, max: STOCK_MAX + 1 }
  const when: PolicyWhen = {
    ...optional('fromSeconds', seconds),
    ...optional('toSeconds', seconds),
    ...optional('freeFrom', units),
    ...optional('freeTo', units),
  }
  if (isEmptyRange(when.fromSeconds, when.toSeconds)) fields.errors.push(`${path}: toSeconds is not after fromSeconds`)
  if (isEmptyRange(when.freeFrom, when.freeTo)) fields.errors.push(`${path}: freeTo is not above freeFrom`)
  fields.errors.push(...strangers(value, WHEN_FIELDS, path))
  return fields.done(when)
}

function parsePart(value: unknown, base: Policy, path: string): Parsed<PolicyPart> {
  const fields = new Fields(value, path)
  if (fields.errors.length > 0) return fields.done({})
  const given = value as Record<string, unknown>
  const fixed = FIXED_FIELDS.filter((name) => given[name] !== undefined)
  fields.errors.push(
    ...fixed.map((name) => `${path}.${name} cannot be changed by a trigger: the ledger is made with it`),
  )
  fields.errors.push(...strangers(value, [...PART_FIELDS, ...FIXED_FIELDS], path))
  const tried = parsePolicy({ ...base, ...given }, path)
  if (!tried.ok) fields.errors.push(...tried.errors)
  const named = PART_FIELDS.filter((name) => given[name] !== undefined)
  if (named.length === 0) fields.errors.push(`${path} changes nothing`)
  const policy = tried.ok ? tried.value : base
  return fields.done(Object.fromEntries(named.map((name) => [name, policy[name]])))
}

/** A misspelt bound would match always: names that are not known are refused. */
function strangers(value: unknown, known: readonly string[], path: string): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.keys(value).flatMap((name) =>
    known.includes(name) ? [] : [`${path} has no field "${name.slice(0, 40)}"`],
  )
}

function isEmptyRange(from: number | undefined, to: number | undefined): boolean {
  return from !== undefined && to !== undefined && to <= from
}
