import type { AbuseVerdict, Tier } from '@bigtap/domain'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Grade, VerdictBook } from './verdict-book.ts'

const NOW = 1_800_000_000_000
const grade = (tier: Tier, forSeconds = 60): Grade => ({ tier, reason: () => 'because', score: 0.9, forSeconds })
const about = (one: Grade | undefined, kept: Grade | undefined = one) =>
  ({ kind: 'uid', key: '7', grade: one, kept }) as const

test('what is in force is not said again, a worse grade is said at once', () => {
  const book = new VerdictBook(10)

  expect(book.decide(about(grade(3)), NOW, false)).toMatchObject({
    tier: 3,
    at: NOW,
    expiresAt: NOW + 60_000,
    by: 'antiblack',
  })
  expect(book.decide(about(grade(3)), NOW + 1_000, false)).toBeUndefined()
  expect(book.decide(about(grade(2)), NOW + 2_000, false)).toBeUndefined()
  expect(book.decide(about(grade(5)), NOW + 3_000, false)).toMatchObject({ tier: 5 })
})

test('a verdict is renewed before it ends while the abuse lasts, though it has become a little less', () => {
  const book = new VerdictBook(10)
  const first = book.decide(about(grade(4)), NOW, false)

  expect(book.decide(about(undefined, grade(4)), NOW + 39_000, false)).toBeUndefined()
  const renewed = book.decide(about(undefined, grade(4)), NOW + 41_000, false)
  expect(renewed).toMatchObject({ tier: 4, expiresAt: NOW + 101_000 })
  expect(renewed?.id).not.toBe(first?.id)
})

test('a grade that became milder ends on its own, and the milder one follows', () => {
  const book = new VerdictBook(10)
  book.decide(about(grade(5)), NOW, false)

  expect(book.decide(about(grade(2)), NOW + 59_000, false)).toBeUndefined()
  expect(book.decide(about(grade(2)), NOW + 60_000, false)).toMatchObject({ tier: 2 })
})

test('who stops is not graded when the time ends, and a little abuse does not begin a verdict', () => {
  const book = new VerdictBook(10)
  book.decide(about(grade(4)), NOW, false)

  expect(book.decide(about(undefined, grade(4)), NOW + 60_001, false)).toBeUndefined()
})

test("an operator's word stands until it ends", () => {
  const book = new VerdictBook(10)
  const word: AbuseVerdict = {
    ...{ id: '0', kind: 'uid', key: '7', tier: 1, reason: 'known to us', score: 1 },
    ...{ at: NOW, expiresAt: NOW + 60_000, isShadow: false, by: 'operator' },
  }
  book.restore(word)

  expect(book.decide(about(grade(5)), NOW + 1, false)).toBeUndefined()
  expect(book.lift('uid', '7', 'no', NOW + 1)).toBeUndefined()
  expect(book.decide(about(grade(5)), NOW + 60_000, false)).toMatchObject({ tier: 5 })
})

test('verdicts in force at a restart are kept and not repeated, lifted ones are gone', () => {
  const [before, after] = [new VerdictBook(10), new VerdictBook(10)]
  const verdict = before.decide(about(grade(5)), NOW, false)
  if (verdict === undefined) throw new Error('no verdict')

  after.restore(verdict)
  expect(after.get('uid:7', NOW + 1)).toEqual(verdict)
  expect(after.decide(about(grade(5)), NOW + 1, false)).toBeUndefined()

  after.restore({ ...verdict, at: NOW + 2, expiresAt: NOW + 2 })
  expect(after.decide(about(grade(5)), NOW + 3, false)).toMatchObject({ tier: 5 })
})

test('the switch from shadow to earnest says again what was said in the shadow', () => {
  const book = new VerdictBook(10)
  book.decide(about(grade(4)), NOW, true)

  expect(book.decide(about(grade(4)), NOW + 1, false)).toMatchObject({ tier: 4, isShadow: false })
})

test('no more verdicts are in force than there is room for', () => {
  const book = new VerdictBook(3)
  const said = Array.from({ length: 5 }, (_, uid) =>
    book.decide({ kind: 'uid', key: String(uid), grade: grade(4), kept: grade(4) }, NOW, false),
  )

  expect(said.filter((one) => one !== undefined)).toHaveLength(3)
  expect([book.size, book.dropped]).toEqual([3, 2])

  book.sweep(NOW + 60_000)
  expect(book.size).toBe(0)
})

test('between two verdicts about one subject the grade got worse, or the first was in its last third', () => {
  const tiers = fc.option(fc.constantFrom<Tier>(1, 2, 3, 4, 5), { nil: undefined })
  const looks = fc.array(fc.record({ tier: tiers, afterMs: fc.integer({ min: 1, max: 30_000 }) }), { maxLength: 100 })
  fc.assert(
    fc.property(looks, (list) => {
      const book = new VerdictBook(10)
      const said: AbuseVerdict[] = []
      let now = NOW
      for (const { tier, afterMs } of list) {
        now += afterMs
        const verdict = book.decide(about(tier === undefined ? undefined : grade(tier)), now, false)
        if (verdict !== undefined) said.push(verdict)
      }
      for (const [index, next] of said.slice(1).entries()) {
        const before = said[index] as AbuseVerdict
        const isWorse = next.tier > before.tier
        const isLate = next.at >= before.expiresAt - (before.expiresAt - before.at) / 3
        expect(isWorse || isLate).toBe(true)
        expect(next.id).not.toBe(before.id)
      }
    }),
  )
})
