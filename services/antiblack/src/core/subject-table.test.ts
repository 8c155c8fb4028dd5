import { NO_PLACE } from '@bigtap/kernel'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SubjectTable } from './subject-table.ts'

const NOW = 1_800_000_000_000
/** Sprayed keys; all ten million of them with BIGTAP_TEST_SPRAY=10000000, which takes some seconds. */
const SPRAYED = Number(process.env.BIGTAP_TEST_SPRAY ?? 1_000_000)

describe('a table of subjects', () => {
  test('finds what a map finds, whoever comes and goes', () => {
    const steps = fc.array(
      fc.record({ key: fc.integer({ min: 0, max: 30 }).map((key) => key * 2 ** 40 + key), removes: fc.boolean() }),
      { maxLength: 300 },
    )
    fc.assert(
      fc.property(steps, fc.integer(), (list, seed) => {
        const table = new SubjectTable(64, seed)
        const known = new Set<number>()
        for (const { key, removes } of list) {
          if (removes) expect(table.remove(key)).toBe(known.delete(key))
          else {
            expect(table.use(key, NOW)).not.toBe(NO_PLACE)
            expect(table.isFresh).toBe(!known.has(key))
            known.add(key)
          }
        }
        const places = [...known].map((key) => table.find(key))
        expect(new Set(places).size).toBe(known.size)
        expect(places.map((place) => table.keys[place])).toEqual([...known])
        expect(table.find(99)).toBe(NO_PLACE)
      }),
    )
  })

  test('gives away the place of who was quiet for longest, once that is a minute', () => {
    const table = new SubjectTable(3, 1)
    for (const [index, key] of [1, 2, 3].entries()) table.use(key, NOW + index)
    table.use(1, NOW + 50)

    expect(table.use(4, NOW + 60_020)).not.toBe(NO_PLACE)
    expect([1, 2, 3, 4].map((key) => table.find(key) !== NO_PLACE)).toEqual([true, false, true, true])
  })

  test('turns a stranger away while all who have a place ask, and lets in one who knocks on', () => {
    const table = new SubjectTable(4, 1)
    for (const key of [1, 2, 3, 4]) table.use(key, NOW)

    const knocks = Array.from({ length: 8 }, () => table.use(5, NOW + 1) !== NO_PLACE)

    expect(knocks).toEqual([false, false, false, false, false, false, false, true])
    expect(table.find(1)).toBe(NO_PLACE)
  })

  test(`stays within its memory when ${SPRAYED} keys are sprayed, keeps who matters and finds who begins to`, () => {
    const table = new SubjectTable(10_000, 7)
    const bytes = table.bytes
    const regulars = Array.from({ length: 100 }, (_, index) => 1_000 + index)
    const newcomers = Array.from({ length: 20 }, (_, index) => 5_000 + index)
    const isFromRegulars = (index: number) => index % 100 === 0
    let letIn = 0
    for (let index = 0; index < SPRAYED; index++) {
      const now = NOW + Math.floor(index / 500)
      if (table.use(2 ** 40 + index * 4_097, now) !== NO_PLACE && index > 20_000) letIn++
      if (isFromRegulars(index)) table.use(regulars[(index / 100) % 100] as number, now)
      if (index > SPRAYED / 2 && index % 500 === 0) table.use(newcomers[(index / 500) % 20] as number, now)
    }

    expect(table.bytes).toBe(bytes)
    expect(table.size).toBe(10_000)
    expect(regulars.filter((key) => table.find(key) === NO_PLACE)).toEqual([])
    expect(newcomers.filter((key) => table.find(key) === NO_PLACE)).toEqual([])
    expect(letIn / SPRAYED).toBeLessThan(0.05)
  })
})
