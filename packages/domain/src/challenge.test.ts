import { expect, test } from 'vitest'
import { TIER_COUNT, type Tier } from './abuse.ts'
import { type ChallengeDoc, isChallenged, NO_CHALLENGE, parseChallenge, triesOf, waitSecondsOf } from './challenge.ts'

const OPENS_AT = 1_800_000_000_000
const tiers = Array.from({ length: TIER_COUNT }, (_, tier) => tier as Tier)
const asked = (doc: ChallengeDoc, now: number) => tiers.filter((tier) => isChallenged(doc, tier, OPENS_AT, now))

test('nobody is asked unless the activity says so', () => {
  expect(parseChallenge({})).toEqual({ ok: true, value: NO_CHALLENGE })
  expect(asked(NO_CHALLENGE, OPENS_AT)).toEqual([])
})

test('challenges are asked before the rush, not at any time before it', () => {
  const all: ChallengeDoc = { ...NO_CHALLENGE, mode: 'all', fromSeconds: 60 }

  expect(asked(all, OPENS_AT - 60_001)).toEqual([])
  expect(asked(all, OPENS_AT - 60_000)).toEqual(tiers)
  expect(asked(all, OPENS_AT + 3_600_000)).toEqual(tiers)
})

test('in the suspicious mode the good tiers are not asked', () => {
  expect(asked({ ...NO_CHALLENGE, mode: 'suspicious' }, OPENS_AT)).toEqual([2, 3, 4, 5])
})

test('the work doubles with each tier; the wait grows fourfold at most', () => {
  expect(tiers.map((tier) => triesOf(NO_CHALLENGE, tier) / NO_CHALLENGE.tries)).toEqual([1, 2, 4, 8, 16, 32])
  expect(tiers.map((tier) => waitSecondsOf(NO_CHALLENGE, tier) / NO_CHALLENGE.waitSeconds)).toEqual([1, 2, 4, 4, 4, 4])
})

test.each([
  ['mode', 'some'],
  ['fromSeconds', -1],
  ['tries', 0],
  ['tries', 1.5],
  ['passSeconds', 1],
  ['waitSeconds', 100_000],
])('a bad %s (%s) is named and refused', (field, value) => {
  const parsed = parseChallenge({ [field]: value }, 'challenge')

  expect(parsed.ok).toBe(false)
  expect(!parsed.ok && parsed.errors.join()).toContain(field)
})
