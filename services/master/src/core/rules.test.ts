import type { Parsed } from '@bigtap/domain'
import { expect, test } from 'vitest'
import { actsAlone, parseRule } from './rules.ts'

const compile = (when: string): Parsed<{ uses: string[] }> =>
  when === 'bad'
    ? { ok: false, errors: ['when is bad'] }
    : { ok: true, value: { uses: when.includes('sku') ? ['sku'] : [] } }
const read = (rule: object) => parseRule(rule, compile)
const errorsOf = (rule: object) => {
  const parsed = read(rule)
  return parsed.ok ? [] : parsed.errors.join('\n')
}

test('what a rule does not name is cautious: it warns, it asks before it acts', () => {
  expect(read({ name: 'a', when: 'totals.x > 1', actions: [{ type: 'alert' }] })).toEqual({
    ok: true,
    value: {
      ...{ name: 'a', when: 'totals.x > 1', forSeconds: 0, clearSeconds: 5, severity: 'warning' },
      ...{ actions: [{ type: 'alert' }], needsYes: true, webhook: true, enabled: true },
    },
  })
})

test('every error of a rule is said together', () => {
  const said = errorsOf({
    name: '',
    when: 'bad',
    forSeconds: -1,
    severity: 'loud',
    actions: [{ type: 'explode' }],
    wehn: 1,
  })
  for (const part of ['name', 'when is bad', 'forSeconds', 'severity', 'actions[0]', 'no field "wehn"'])
    expect(said).toContain(part)
})

test.each([
  [[{ type: 'rate' }], 'factor or pacePerSecond'],
  [[{ type: 'rate', factor: 0.5, pacePerSecond: 1 }], 'factor or pacePerSecond'],
  [[{ type: 'rate', factor: 99 }], 'factor must be'],
  [[{ type: 'rate', factor: 0.5, skuId: 3 }], 'needs an activityId'],
  [[{ type: 'pause-sku' }], 'pause-sku needs'],
  [undefined, 'at least one action'],
  [[null], 'is not an object'],
])('actions %j are refused', (actions, said) => {
  expect(errorsOf({ name: 'a', when: 'totals.x > 1', actions })).toContain(said)
})

test('a rule about a SKU may pause that SKU', () => {
  expect(read({ name: 'a', when: 'sku.x > 1', actions: [{ type: 'pause-sku' }] }).ok).toBe(true)
})

test('only what changes the sale without a question acts alone', () => {
  const parsed = (more: object) => read({ name: 'a', when: 'sku.x > 1', actions: [{ type: 'pause-sku' }], ...more })
  const alone = (more: object) => {
    const one = parsed(more)
    return one.ok && actsAlone(one.value)
  }
  expect([alone({}), alone({ needsYes: false })]).toEqual([false, true])
  expect(alone({ needsYes: false, actions: [{ type: 'alert' }] })).toBe(false)
})
