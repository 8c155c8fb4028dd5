import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseRule } from './core/rules.ts'
import { DEFAULT_RULES } from './default-rules.ts'
import { type ConditionInput, compileCondition, type Figures } from './rule-conditions.ts'

const runbook = readFileSync(join(import.meta.dirname, '../../../docs/RUNBOOK.md'), 'utf8')

interface Case {
  readonly totals?: Figures
  readonly sku?: Figures
  readonly node?: Figures
}

const well: Required<Case> = {
  totals: { askRate: 900, violations: 0, ledgersInDoubt: 0 },
  sku: { state: 'releasing', free: 50, askRate: 900, grantRate: 100 },
  node: {
    ...{ role: 'limiter', ageMs: 900, eventLoopMs: 12, queueDepth: 30, lag: 0, refused: 0 },
    ...{ accessLagMs: 120, verdictsWaiting: 3, blockedLastMinute: 1_200, subjects: 50_000 },
  },
}
const bad: Record<string, Case> = {
  'figures do not add up': { totals: { violations: 1 } },
  'ledger in doubt': { totals: { ledgersInDoubt: 1 } },
  'node silent': { node: { ageMs: 5_001 } },
  'documents refused': { node: { refused: 1 } },
  'event loop slow': { node: { eventLoopMs: 251 } },
  'queue deep': { node: { queueDepth: 5_001 } },
  'orders stored late': { node: { lag: 10_001 } },
  'requests judged late': { node: { accessLagMs: 3_001 } },
  'verdicts wait': { node: { verdictsWaiting: 1_001 } },
  'many are blocked': { node: { blockedLastMinute: 26_000 } },
  'nobody gets anything': { sku: { grantRate: 0 } },
}

function says(when: string, more: Case, base: Case = well): boolean | string {
  const compiled = compileCondition(when)
  if (!compiled.ok) return compiled.errors.join()
  const input: ConditionInput = {
    totals: { ...base.totals, ...more.totals },
    sku: { ...base.sku, ...more.sku },
    node: { ...base.node, ...more.node },
  }
  return compiled.value.test(input)
}

describe.each(DEFAULT_RULES)('the shipped rule "$name"', (rule) => {
  test('is one that the API would take, and only tells', () => {
    expect(parseRule(rule, compileCondition)).toEqual({ ok: true, value: rule })
    expect(rule.actions).toEqual([{ type: 'alert' }])
  })

  test('holds when that is so, and not when all is well', () => {
    expect(says(rule.when, bad[rule.name] ?? {})).toBe(true)
    expect(says(rule.when, {})).toBe(false)
  })

  test('does not fail on a node or SKU that lacks its figures', () => {
    expect(says(rule.when, {}, { totals: {}, sku: { state: 'ready' }, node: { role: 'x' } })).toBe(false)
  })

  test('has its row in the runbook', () => {
    expect(runbook).toContain(`| \`${rule.name}\` |`)
  })
})

test('every alarm that master raises has its row in the runbook', () => {
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  const sources = files.filter(
    (file) => file.endsWith('.ts') && !file.includes('.test.') && !file.includes('test-support'),
  )
  const text = sources.map((file) => readFileSync(join(import.meta.dirname, file), 'utf8')).join('\n')
  const found = [
    ...text.matchAll(/ALARM = '([a-z-]+)'/g),
    ...text.matchAll(/\bkey(?:: | = )`([a-z-]+):\$/g),
    ...text.matchAll(/function \w+Key\([^)]*\)[^{]*\{\s*return `([a-z-]+):/g),
  ]
  const names = [...new Set(found.map(([, name]) => name))]
  expect(names.sort()).toEqual(
    expect.arrayContaining(['clock', 'document', 'gate', 'opening', 'stock-short', 'warehouse']),
  )
  const isKnown = (name = '') => new RegExp(`^\\| \`${name}[:\`]`, 'm').test(runbook)
  expect(names.filter((name) => !isKnown(name))).toEqual([])
})
