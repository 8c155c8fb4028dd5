import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ProfileTable } from './profile-table.ts'

test('the tier of a buyer is the worst that was said, and 0 when nothing was', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer({ min: 1, max: 40 }), fc.nat(5))), (rows) => {
      const table = new ProfileTable({ uidsMax: 1_000 })
      const worst = new Map<number, number>()
      for (const [uid, tier] of rows) {
        table.add(uid, tier)
        worst.set(uid, Math.max(tier, worst.get(uid) ?? 0))
      }
      for (let uid = 0; uid <= 41; uid++) expect(table.tierOf(uid)).toBe(worst.get(uid) ?? 0)
    }),
    { seed: 1 },
  )
})

test('a million buyers take some ten bytes each', () => {
  const table = new ProfileTable({ uidsMax: 1_000_000 })
  for (let uid = 1; uid <= 1_000_000; uid++) table.add(uid * 7_919, 1 + (uid % 2))

  expect(table.size).toBe(1_000_000)
  expect(table.bytes / table.size).toBeLessThan(11.5)
})

test('one more than there is room for is said, and nobody who is in it is lost', () => {
  const table = new ProfileTable({ uidsMax: 2 })

  expect([table.add(1, 3), table.add(2, 3), table.add(1, 3), table.add(3, 0), table.add(3, 1)]).toEqual([
    ...[true, true, true, true, false],
  ])
  expect([table.tierOf(1), table.tierOf(2), table.tierOf(3)]).toEqual([3, 3, 0])
})
