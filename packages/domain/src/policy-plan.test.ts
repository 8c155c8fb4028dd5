import { expect, test } from 'vitest'
import { DEFAULT_POLICY } from './documents.ts'
import { applyTrigger, matchTrigger, PLAN_TRIGGERS_MAX, type PolicyPlan, parsePolicyPlan } from './policy-plan.ts'

const plan: PolicyPlan = [
  { when: { freeTo: 10 }, policy: { pacePerSecond: 1 } },
  { when: { fromSeconds: 0, toSeconds: 5 }, policy: { pacePerSecond: 100 } },
  { when: { fromSeconds: 5, toSeconds: 60, freeFrom: 50 }, policy: { pacePerSecond: 20, taperAt: 0.5 } },
]
const match = (openForSeconds: number, free: number) => matchTrigger(plan, { openForSeconds, free })

test('the first trigger that matches wins, and none leaves the base policy', () => {
  expect([match(1, 500), match(1, 9), match(5, 500), match(5, 40), match(60, 500)]).toEqual([1, 0, 2, -1, -1])
  expect(applyTrigger(DEFAULT_POLICY, plan, 2)).toEqual({ ...DEFAULT_POLICY, pacePerSecond: 20, taperAt: 0.5 })
  expect(applyTrigger(DEFAULT_POLICY, plan, -1)).toEqual(DEFAULT_POLICY)
})

test('before the opening no trigger with a time matches', () => {
  expect(match(-3, 500)).toBe(-1)
})

test('a good plan is read as it was written', () => {
  expect(parsePolicyPlan(plan, DEFAULT_POLICY)).toEqual({ ok: true, value: plan })
  expect(parsePolicyPlan(undefined, DEFAULT_POLICY)).toEqual({ ok: true, value: [] })
  const noPace = [{ when: {}, policy: { pacePerSecond: null } }]
  expect(parsePolicyPlan(noPace, DEFAULT_POLICY)).toEqual({ ok: true, value: noPace })
})

test('a bad plan is refused whole, and every error is said', () => {
  const parsed = parsePolicyPlan(
    [
      { when: { fromSeconds: 9, toSeconds: 3 }, policy: { pacePerSecond: -1 } },
      { when: { fromSecond: 9 }, policy: { overbook: 2 } },
      { when: { freeFrom: 'many' }, policy: {} },
      { when: null, policy: 7 },
    ],
    DEFAULT_POLICY,
  )
  const text = parsed.ok ? '' : parsed.errors.join('\n')
  for (const said of ['toSeconds is not after', 'pacePerSecond must be', 'no field "fromSecond"', 'overbook cannot'])
    expect(text).toContain(said)
  for (const said of [
    'freeFrom must be',
    'changes nothing',
    'policyPlan[3].when is not an object',
    '[3].policy is not an object',
  ])
    expect(text).toContain(said)
})

test.each([[{}], ['x'], [null], [Array.from({ length: PLAN_TRIGGERS_MAX + 1 }, () => plan[0])]])(
  'what is no plan is refused',
  (value) => {
    expect(parsePolicyPlan(value, DEFAULT_POLICY)).toMatchObject({ ok: false })
  },
)
