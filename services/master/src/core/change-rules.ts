/** What operators may change in which state, and how their input is read. */

import {
  type ActivityDoc,
  type ActivityState,
  DEFAULT_POLICY,
  DEFAULT_WAITING,
  type Parsed,
  type PolicyPlan,
  parseActivityDoc,
  parsePolicyPlan,
  parseSkuDoc,
  type SkuDoc,
} from '@bigtap/domain'
import { mergedWaiting } from './draw-seed.ts'

type Input = Readonly<Record<string, unknown>>

/** Before a ledger is made everything may change. */
const FREE_STATES: readonly ActivityState[] = ['draft', 'scheduled']
/** States in which a ledger is there that sells, or is about to. */
export const LIVE_STATES: readonly ActivityState[] = ['preloading', 'armed', 'open', 'paused']
const LIVE_ACTIVITY_FIELDS = ['title', 'closesAt', 'accessLimits', 'challenge']
const LIVE_SKU_FIELDS = ['title', 'imageUrl', 'paused', 'policy', 'policyPlan']
/** The ledger was made with these. */
const FIXED_POLICY_FIELDS = ['overbook', 'holdSeconds'] as const

/** Reads a new activity; its id and state are not the operator's to choose. */
export function readNewActivity(input: Input): Parsed<ActivityDoc> {
  const waiting = mergedWaiting({ waiting: DEFAULT_WAITING }, input)
  return parseActivityDoc({ ...input, ...waiting, id: 1, state: 'draft', skuIds: [] })
}

/** Reads a new SKU. */
export function readNewSku(activityId: number, input: Input): Parsed<SkuDoc> {
  return parseSkuDoc({ ...input, id: 1, activityId })
}

/** An activity with the changes in it; the terms of challenges and of waiting may name only what changes. */
export function readActivityPatch(before: ActivityDoc, input: Input): Parsed<ActivityDoc> {
  const { id, state, skuIds } = before
  const { challenge } = input
  const merged = isPart(challenge) ? { challenge: { ...before.challenge, ...challenge } } : {}
  return parseActivityDoc({ ...before, ...input, ...merged, ...mergedWaiting(before, input), id, state, skuIds })
}

/** A SKU with the changes in it; a policy may name only what changes. */
export function readSkuPatch(before: SkuDoc, input: Input): Parsed<SkuDoc> {
  const { id, activityId } = before
  const { policy } = input
  const merged = isPart(policy) ? { policy: { ...before.policy, ...policy } } : {}
  return parseSkuDoc({ ...before, ...input, ...merged, id, activityId })
}

/** Reads the plan of a SKU's policy; each of its policies is tried on the base that was read with it. */
export function readPlan(value: unknown, read: Parsed<SkuDoc>): Parsed<PolicyPlan> {
  return parsePolicyPlan(value, read.ok ? read.value.policy : DEFAULT_POLICY)
}

/** Both values, or the errors of both. */
export function both<A, B>(a: Parsed<A>, b: Parsed<B>): Parsed<[A, B]> {
  if (a.ok && b.ok) return { ok: true, value: [a.value, b.value] }
  return { ok: false, errors: [...(a.ok ? [] : a.errors), ...(b.ok ? [] : b.errors)] }
}

/** Why the state forbids these changes of an activity; undefined when it does not. */
export function activityChangeObstacle(before: ActivityDoc, after: ActivityDoc): string | undefined {
  return obstacle(before.state, changedFields(before, after), LIVE_ACTIVITY_FIELDS)
}

/** A SKU's document, with the plan of its policy where that may change too. */
export type SkuChange = SkuDoc & { readonly policyPlan?: PolicyPlan }

/** Why the state forbids these changes of a SKU; undefined when it does not. */
export function skuChangeObstacle(state: ActivityState, before: SkuChange, after: SkuChange): string | undefined {
  const fixed = FIXED_POLICY_FIELDS.filter((field) => before.policy[field] !== after.policy[field])
  if (LIVE_STATES.includes(state) && fixed.length > 0)
    return `${fixed.join(', ')} cannot change once the ledger is made`
  return obstacle(state, changedFields(before, after), LIVE_SKU_FIELDS)
}

/** May SKUs be added or taken away, and all fields change? */
export function isFreeToChange(state: ActivityState): boolean {
  return FREE_STATES.includes(state)
}

/** Is there a ledger that sells? */
export function hasLiveLedger(state: ActivityState): boolean {
  return LIVE_STATES.includes(state)
}

function isPart(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function obstacle(state: ActivityState, changed: readonly string[], live: readonly string[]): string | undefined {
  if (changed.length === 0 || isFreeToChange(state)) return undefined
  const forbidden = hasLiveLedger(state) ? changed.filter((field) => !live.includes(field)) : changed
  return forbidden.length === 0 ? undefined : `${forbidden.join(', ')} cannot change while the activity is ${state}`
}

function changedFields(before: object, after: object): string[] {
  const old = before as Record<string, unknown>
  return Object.entries(after).flatMap(([name, value]) =>
    JSON.stringify(value) === JSON.stringify(old[name]) ? [] : [name],
  )
}
