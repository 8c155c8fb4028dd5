import { expect, test } from 'vitest'
import { cohortOf } from './cohort.ts'

const KEY = { a: 0x1234_5678, b: 0x9abc_def0 }
const BUYERS = 160_000
/** 15 degrees of freedom: above this with a chance of 1 in 10,000. */
const CHI_SQUARE_MAX = 44.26

function counts(uidOf: (index: number) => number, activityId: number): number[] {
  const seen = Array.from({ length: 16 }, () => 0)
  for (let index = 0; index < BUYERS; index++) {
    const cohort = Math.floor(cohortOf(KEY, activityId, uidOf(index)))
    seen[cohort] = (seen[cohort] ?? 0) + 1
  }
  return seen
}

function chiSquare(seen: readonly number[]): number {
  const expected = BUYERS / seen.length
  return seen.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
}

test.each([
  ['one after the other', (index: number) => index + 1],
  ['in steps', (index: number) => index * 1_024 + 5],
  ['beyond 32 bits', (index: number) => 10_000_000_000 + index * 7],
])('buyers with uids %s are spread evenly over the cohorts (chi-square)', (_how, uidOf) => {
  for (const activityId of [1, 2, 77]) expect(chiSquare(counts(uidOf, activityId))).toBeLessThan(CHI_SQUARE_MAX)
})

test('who is last in one sale is anywhere in the next', () => {
  const last = Array.from({ length: BUYERS * 16 }, (_, index) => index + 1)
    .filter((uid) => cohortOf(KEY, 1, uid) >= 15)
    .slice(0, BUYERS)
  const next = Array.from({ length: 16 }, () => 0)
  for (const uid of last) {
    const cohort = Math.floor(cohortOf(KEY, 2, uid))
    next[cohort] = (next[cohort] ?? 0) + 1
  }
  const expected = last.length / 16
  expect(next.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)).toBeLessThan(CHI_SQUARE_MAX)
})

test('with another key a buyer stands elsewhere', () => {
  const uids = Array.from({ length: 1_000 }, (_, index) => index + 1)
  const same = uids.filter((uid) => cohortOf(KEY, 1, uid) === cohortOf({ a: 1, b: 2 }, 1, uid))
  expect(same.length).toBeLessThan(10)
})
