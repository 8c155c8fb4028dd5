import { expect, test } from 'vitest'
import { type ConditionInput, compileCondition } from './rule-conditions.ts'

const input: ConditionInput = {
  totals: { askRate: 5_000, violations: 0 },
  sku: { activityId: 7, skuId: 3, state: 'releasing', free: 4, stock: 10, held: 2 },
  node: { id: 'middle-1', role: 'middle', eventLoopMs: 12.5 },
}

function run(when: string): boolean | string | readonly string[] {
  const compiled = compileCondition(when)
  return compiled.ok ? compiled.value.test(input) : compiled.errors
}

test.each([
  ['sku.free < 5', true],
  ['sku.free * 2 < sku.stock', true],
  ['sku.free + 1 == 5 && 10 - sku.free == 6', true],
  ['sku.free / sku.stock < 0.5', true],
  ['sku.state in ["soldOut", "exhausted"]', false],
  ['has(node.queueDepth) && node.queueDepth > 100', false],
  ['totals.askRate > 1000 && node.role == "middle"', true],
  ['[1, 2, 3].all(x, totals.askRate > x)', true],
])('%s is %s', (when, wanted) => {
  expect(run(when)).toBe(wanted)
})

test('a figure that is not there is an error that names it, not false', () => {
  expect(run('sku.nothing > 1')).toContain('nothing')
  expect(run('totals.askRate + 1')).toContain('neither true nor false')
})

test.each([
  ['sku.free >', 'no CEL'],
  ['skus.free > 1', 'names skus'],
  ['true', 'none of'],
  ['sku.free > 1 && node.cpu > 2', 'sku and node'],
  ['[1].all(x, [1].all(y, totals.askRate > x))', 'loop within a loop'],
  [`totals.askRate > ${'9'.repeat(600)}`, 'characters'],
  [`${'('.repeat(490)}`, 'no CEL'],
])('%s is refused when it is stored', (when, said) => {
  expect(String(run(when))).toContain(said)
})

test('the figures that a condition names are shown with the alert', () => {
  const compiled = compileCondition('sku.free < 5 && totals.askRate > 10')
  expect(compiled.ok && compiled.value.uses).toEqual(['totals', 'sku'])
  expect(compiled.ok && compiled.value.shown(input)).toEqual({ 'sku.free': 4, 'totals.askRate': 5_000 })
})
