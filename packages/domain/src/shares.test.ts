import { expect, test } from 'vitest'
import { parseSharesDoc, SHARES_OLD_MS, shareOf } from './shares.ts'

const AT = 1_800_000_000_000
const doc = {
  shares: [
    { nodeId: 'limiter-1', share: 0.7 },
    { nodeId: 'limiter-2', share: 0.3 },
  ],
  at: AT,
}

test('a limiter takes what the document gives it', () => {
  expect(shareOf(doc, 'limiter-1', AT + SHARES_OLD_MS)).toBe(0.7)
})

test('one that is not named takes an equal share beside the others', () => {
  expect(shareOf(doc, 'limiter-3', AT)).toBeCloseTo(1 / 3)
})

test('an old document, or one from the future, gives each the same, and all together not more than there is', () => {
  for (const now of [AT + SHARES_OLD_MS + 1, AT - SHARES_OLD_MS - 1])
    for (const id of ['limiter-1', 'limiter-2', 'limiter-3']) expect(shareOf(doc, id, now)).toBeCloseTo(1 / 3)
})

test('without a document a limiter is alone', () => {
  expect(shareOf(undefined, 'limiter-1', AT)).toBe(1)
})

test('shares that are more than the whole, or name a limiter twice, are refused', () => {
  const twice = [
    { nodeId: 'limiter-1', share: 0.5 },
    { nodeId: 'limiter-1', share: 0.5 },
  ]

  expect(parseSharesDoc(doc).ok).toBe(true)
  expect(parseSharesDoc({ at: AT, shares: twice })).toMatchObject({ errors: ['shares names a limiter twice'] })
  expect(parseSharesDoc({ at: AT, shares: [...doc.shares, { nodeId: 'x', share: 0.1 }] })).toMatchObject({ ok: false })
})
