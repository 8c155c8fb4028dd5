/**
 * PolicyKeeper: the policy in force of every SKU that has a plan. The first trigger that matches wins, none is the base.
 *
 * ```
 *   plan ─┬ trigger 0: since the opening, free units ─┐
 *         ├ trigger 1                                 ├─ first match ─► policy in force ─► one revision of the SKU
 *         └ (none) ──────────────── base policy ──────┘
 * ```
 */

import { applyTrigger, matchTrigger, type Policy, type PolicyPlan, parsePolicy, parsePolicyPlan } from '@bigtap/domain'

/** A policy with its plan. `active` is the trigger in force, -1 is the base. */
export interface PlannedPolicy {
  readonly base: Policy
  readonly plan: PolicyPlan
  readonly active: number
}

/** What is known of a SKU with a plan. `free` is undefined while its ledger cannot be read: then nothing changes. */
export interface PlanFact extends PlannedPolicy {
  readonly activityId: number
  readonly skuId: number
  readonly opensAt: number
  readonly free: number | undefined
}

/** A SKU whose policy changes. */
export interface PolicyChange {
  readonly activityId: number
  readonly skuId: number
  readonly active: number
  readonly policy: Policy
}

/** One look at all SKUs with a plan; returns those whose policy changes. */
export function policyTick(now: number, facts: readonly PlanFact[]): PolicyChange[] {
  return facts.flatMap(({ activityId, skuId, base, plan, active, opensAt, free }) => {
    if (free === undefined) return []
    const next = matchTrigger(plan, { openForSeconds: (now - opensAt) / 1_000, free })
    return next === active ? [] : [{ activityId, skuId, active: next, policy: applyTrigger(base, plan, next) }]
  })
}

/** The policy in force. */
export function policyInForce({ base, plan, active }: PlannedPolicy): Policy {
  return applyTrigger(base, plan, active)
}

/**
 * What is stored now, with the trigger that is in force: it stays while the plan is the same. Both are read as an operator's
 * input is, so that they compare equal to it: PostgreSQL keeps the fields of JSON in its own order.
 */
export function planOf(stored: Policy, storedPlan: PolicyPlan, known: PlannedPolicy | undefined): PlannedPolicy {
  const [readBase, readPlan] = [parsePolicy(stored), parsePolicyPlan(storedPlan, stored)]
  const [base, plan] = [readBase.ok ? readBase.value : stored, readPlan.ok ? readPlan.value : storedPlan]
  const isSame = known !== undefined && JSON.stringify(known.plan) === JSON.stringify(plan)
  return { base, plan, active: isSame ? known.active : -1 }
}
