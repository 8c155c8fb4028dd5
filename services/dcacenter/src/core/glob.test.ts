import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GlobBudget, parseGlob } from './glob.ts'

const matches = (pattern: string, text: string) => parseGlob(pattern).matches(text, new GlobBudget(1_000_000))

test.each([
  ['*', '', true],
  ['sku:*', 'sku:1:2', true],
  ['sku:*', 'node:1', false],
  ['sku:1:?', 'sku:1:2', true],
  ['sku:1:?', 'sku:1:23', false],
  ['*:2', 'sku:1:2', true],
  ['s*:*:2', 'sku:12:2', true],
  ['node:[ab]', 'node:b', true],
  ['node:[a-c]', 'node:d', false],
  ['node:[c-a]', 'node:b', true],
  ['node:[^a-c]', 'node:d', true],
  ['node:[a\\]]', 'node:]', true],
  ['node:\\*', 'node:*', true],
  ['node:\\*', 'node:x', false],
  ['[abc', 'b', true],
  ['', '', true],
  ['', 'x', false],
  ['totals', 'totals', true],
])('%s against %s: %s', (pattern, text, isMatch) => {
  expect(matches(pattern, text)).toBe(isMatch)
})

test('agrees with a regular expression on whatever stars and marks', () => {
  const chars = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 8 })
  fc.assert(
    fc.property(chars, fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 }), (pattern, text) => {
      const expected = new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`).test(text)
      expect(matches(pattern, text)).toBe(expected)
    }),
    { seed: 5, numRuns: 2_000 },
  )
})

test('a pattern made to take for ever takes at most pattern times text', () => {
  const budget = new GlobBudget(100_000)

  expect(parseGlob('*a'.repeat(60)).matches(`${'a'.repeat(250)}b`, budget)).toBe(false)

  expect(budget.isSpent).toBe(false)
})

test('what is over its budget matches nothing and says so', () => {
  const budget = new GlobBudget(3)

  expect(parseGlob('abcdef').matches('abcdef', budget)).toBe(false)

  expect(budget.isSpent).toBe(true)
})
