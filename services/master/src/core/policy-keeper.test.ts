import { applyTrigger, DEFAULT_POLICY, matchTrigger, type PolicyPlan, type PolicyWhen } from '@bigtap/domain'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type PlanFact, planOf, policyInForce, policyTick } from './policy-keeper.ts'

const OPENS = 1_000_000
const plan: PolicyPlan = [
  { when: { freeTo: 10 }, policy: { pacePerSecond: 1 } },
  { when: { fromSeconds: 5 }, policy: { pacePerSecond: 20 } },
]
const fact = (more: Partial<PlanFact> = {}): PlanFact => ({
  ...{ activityId: 7, skuId: 3, base: DEFAULT_POLICY, plan, active: -1, opensAt: OPENS, free: 500 },
  ...more,
})

test('the pace changes five seconds after the opening, to the millisecond, and once', () => {
  expect(policyTick(OPENS + 4_999, [fact()])).toEqual([])
  const [change] = policyTick(OPENS + 5_000, [fact()])
  expect(change).toMatchObject({ activityId: 7, skuId: 3, active: 1, policy: { pacePerSecond: 20, taperAt: 0.1 } })
  expect(policyTick(OPENS + 5_050, [fact({ active: 1 })])).toEqual([])
})

test('the last units take another pace, and returned units bring the earlier one back', () => {
  expect(policyTick(OPENS + 6_000, [fact({ active: 1, free: 9 })])).toMatchObject([{ active: 0 }])
  expect(policyTick(OPENS + 6_000, [fact({ active: 0, free: 10 })])).toMatchObject([{ active: 1 }])
})

test('while the ledger cannot be read the policy stays', () => {
  expect(policyTick(OPENS + 6_000, [fact({ free: undefined })])).toEqual([])
})

test('a changed base keeps its trigger, a changed plan begins anew', () => {
  const known = { base: DEFAULT_POLICY, plan, active: 1 }
  const base = { ...DEFAULT_POLICY, taperAt: 0.9 }
  expect(policyInForce(planOf(base, [...plan], known))).toMatchObject({ taperAt: 0.9, pacePerSecond: 20 })
  expect(planOf(base, plan.slice(1), known).active).toBe(-1)
})

test('whatever the plan, the policy in force is the first match after one tick, and a second tick changes nothing', () => {
  const bound = fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined })
  const when = fc.record({ fromSeconds: bound, toSeconds: bound, freeFrom: bound, freeTo: bound }).map(named)
  const trigger = fc.record({ when, policy: fc.record({ pacePerSecond: fc.integer({ min: 1, max: 9 }) }) })
  const at = fc.record({ openForSeconds: fc.integer({ min: -10, max: 110 }), free: fc.integer({ min: 0, max: 110 }) })
  fc.assert(
    fc.property(fc.array(trigger, { maxLength: 6 }), at, fc.integer({ min: -1, max: 6 }), (some, now, active) => {
      const one = fact({ plan: some, active, free: now.free })
      const change = policyTick(OPENS + now.openForSeconds * 1_000, [one])[0]
      const after = change?.active ?? active
      expect(after).toBe(matchTrigger(some, now))
      expect(change?.policy ?? applyTrigger(DEFAULT_POLICY, some, active)).toEqual(
        applyTrigger(DEFAULT_POLICY, some, after),
      )
      expect(policyTick(OPENS + now.openForSeconds * 1_000, [{ ...one, active: after }])).toEqual([])
    }),
  )
})

/** Bounds that are not given are not there. */
function named(when: Record<string, number | undefined>): PolicyWhen {
  return Object.fromEntries(Object.entries(when).filter(([, value]) => value !== undefined))
}
