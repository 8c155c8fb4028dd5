import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AssertionError } from './errors.ts'
import { bytesPerOperation } from './test-support/bytes-per-operation.ts'
import { UidSet } from './uid-set.ts'

/** Uids as shops have them: counted up, in steps of a power of two, and any. */
const uid = fc.oneof(
  fc.integer({ min: 1, max: 300 }),
  fc.nat(300).map((n) => 10_000_000_000 + n * 4_096),
  fc.nat(300).map((n) => Number.MAX_SAFE_INTEGER - n),
  fc.maxSafeInteger().map((n) => Math.max(1, Math.abs(n))),
)

describe('uid set', () => {
  test('behaves as a plain set, whatever is added and taken out', () => {
    const action = fc.record({ uid, isAdded: fc.boolean() })
    fc.assert(
      fc.property(fc.array(action, { maxLength: 600 }), fc.array(uid), (actions, others) => {
        const set = new UidSet({ entriesMax: 10_000 })
        const model = new Set<number>()
        set.prefetch(Float64Array.from(others), 0, others.length)
        for (const one of actions) {
          if (one.isAdded) {
            expect(set.add(one.uid)).toBe(true)
            model.add(one.uid)
          } else expect(set.delete(one.uid)).toBe(model.delete(one.uid))
          expect(set.size).toBe(model.size)
        }
        for (const one of [...others, ...actions.map((each) => each.uid)]) expect(set.has(one)).toBe(model.has(one))
      }),
      { seed: 3 },
    )
  })

  test.each([
    ['counted up', (n: number) => n],
    ['counted up beyond 2^32', (n: number) => 10_000_000_000 + n],
    ['in steps of a power of two', (n: number) => n * 4_194_304],
    ['with the same low half', (n: number) => 77 + n * 2 ** 32],
  ])('200,000 uids %s: all are found, their neighbours are not, half of them taken out again', (_what, uidOf) => {
    const set = new UidSet({ entriesMax: 200_000 })
    for (let n = 1; n <= 200_000; n++) set.add(uidOf(n))
    expect(set.size).toBe(200_000)
    expect(set.bytes / set.size).toBeLessThan(10)

    for (let n = 1; n <= 200_000; n += 2) set.delete(uidOf(n))
    let wrong = 0
    for (let n = 1; n <= 400_000; n++) if (set.has(uidOf(n)) !== (n <= 200_000 && n % 2 === 0)) wrong++
    expect([wrong, set.size]).toEqual([0, 100_000])
  })

  test('room that is made before keeps who is in, and is not outgrown', () => {
    const set = new UidSet({ entriesMax: 100_000 })
    for (let n = 1; n <= 1_000; n++) set.add(n)
    for (const _ of set.expect(100_000)) expect(set.has(1_000)).toBe(true)
    const { bytes } = set
    for (let n = 1; n <= 100_000; n++) set.add(n)

    expect(set.bytes).toBeLessThan(bytes * 1.01)
    expect(set.bytes / set.size).toBeLessThan(10)
    for (let n = 1; n <= 100_000; n++) if (!set.has(n)) throw new Error(`${n} is lost`)
  })

  test('at its limit it refuses new uids and still knows the old ones', () => {
    const set = new UidSet({ entriesMax: 3 })

    expect([1, 2, 3, 4, 2].map((one) => set.add(one))).toEqual([true, true, true, false, true])
    expect([set.has(2), set.has(4), set.size]).toEqual([true, false, 3])
    expect([set.delete(2), set.add(4), set.has(4)]).toEqual([true, true, true])
  })

  test('what is no uid is never found, and to add it is a bug', () => {
    const set = new UidSet({ entriesMax: 3 })
    set.add(1)

    for (const one of [0, -1, 1.5, 2 ** 53, 2 ** 64, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(set.has(one)).toBe(false)
      expect(set.delete(one)).toBe(false)
      expect(() => set.add(one)).toThrow(AssertionError)
    }
  })

  test('a look-up leaves 0 bytes', () => {
    const set = new UidSet({ entriesMax: 100_000 })
    for (let n = 1; n <= 50_000; n++) set.add(n * 0x1_0000_0001)
    let found = 0 // half of them
    const bytes = bytesPerOperation(50_000, (count) => {
      for (let n = 1; n <= count; n++) if (set.has(2 * n * 0x1_0000_0001)) found++
    })

    expect(found).toBeGreaterThan(0)
    expect(bytes).toBeLessThan(0.5)
  })
})
