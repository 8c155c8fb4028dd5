import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { backoffMs, jitterMs } from './backoff.ts'
import { AssertionError, assert, CodedError, hasCode } from './errors.ts'
import { hashUid, SLOT_COUNT, slotOf } from './hash.ts'
import { Ring } from './ring.ts'
import { NO_SLOT, SlotTable } from './slots.ts'
import { bytesPerOperation } from './test-support/bytes-per-operation.ts'
import { UidTable } from './uid-table.ts'

describe('ring', () => {
  test('behaves as a bounded array whatever is done to it', () => {
    const action = fc.oneof(fc.record({ push: fc.integer() }), fc.constantFrom('shift' as const, 'pop' as const))
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.array(action, { maxLength: 200 }), (capacity, actions) => {
        const ring = new Ring<number>(capacity)
        const model: number[] = []
        for (const one of actions) {
          if (one === 'shift') expect(ring.shift()).toBe(model.shift())
          else if (one === 'pop') expect(ring.pop()).toBe(model.pop())
          else {
            const fits = model.length < capacity
            expect(ring.push(one.push)).toBe(fits)
            if (fits) model.push(one.push)
          }
          expect(ring.size).toBe(model.length)
          expect(ring.at(0)).toBe(model[0])
        }
      }),
      { seed: 1 },
    )
  })

  test('a full ring that drops its oldest returns it', () => {
    const ring = new Ring<number>(2)
    expect([1, 2, 3].map((n) => ring.pushDroppingOldest(n))).toEqual([undefined, undefined, 1])
  })
})

describe('slots', () => {
  test('a late reply to a slot that was taken again is not mistaken', () => {
    const slots = new SlotTable(1)
    const first = slots.acquire()
    expect(slots.acquire()).toBe(NO_SLOT)
    expect(slots.release(first)).toBe(true)
    const second = slots.acquire()

    expect(SlotTable.indexOf(second)).toBe(SlotTable.indexOf(first))
    expect(slots.isLive(first)).toBe(false)
    expect(slots.release(first)).toBe(false)
    expect(slots.isLive(second)).toBe(true)
    expect(slots.used).toBe(1)
  })
})

describe('uid table', () => {
  test('behaves as a map, over growth and collisions, for uids up to 2^53 - 1', () => {
    const uid = fc.oneof(
      fc.integer({ min: 1, max: 300 }),
      fc.maxSafeInteger().filter((n) => n > 0),
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(uid, fc.nat()), { maxLength: 400 }), (entries) => {
        const table = new UidTable({ entriesMax: 10_000, entriesAtStart: 2 })
        const model = new Map<number, number>()
        for (const [key, value] of entries) {
          const small = value % 0x7fff_ffff
          expect(table.set(key, small)).toBe(true)
          model.set(key, small)
        }
        for (const [key, value] of model) expect(table.get(key)).toBe(value)
        expect(table.get(301)).toBe(model.get(301) ?? -1)
        expect(table.size).toBe(model.size)
      }),
      { seed: 2 },
    )
  })

  test('a uid that is deleted is gone, and all others are still found', () => {
    const step = fc.tuple(fc.integer({ min: 1, max: 60 }), fc.boolean())
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const table = new UidTable({ entriesMax: 1_000, entriesAtStart: 2 })
        const model = new Map<number, number>()
        for (const [index, [uid, isDeleted]] of steps.entries()) {
          if (isDeleted) expect(table.delete(uid)).toBe(model.delete(uid))
          else {
            table.set(uid, index)
            model.set(uid, index)
          }
        }
        for (let uid = 1; uid <= 60; uid++) expect(table.get(uid)).toBe(model.get(uid) ?? -1)
        expect(table.size).toBe(model.size)
      }),
      { seed: 3 },
    )
  })

  test('at its limit it refuses new uids and still knows the old ones', () => {
    const table = new UidTable({ entriesMax: 3 })
    expect([1, 2, 3, 4].map((uid) => table.set(uid, uid))).toEqual([true, true, true, false])
    expect(table.set(2, 9)).toBe(true)
    expect([table.get(2), table.get(4)]).toEqual([9, -1])
  })

  test('what is no uid is never found, and a value of more than 31 bits is a bug', () => {
    const table = new UidTable({ entriesMax: 3 })
    expect([0, -1, Number.NaN].map((uid) => table.get(uid))).toEqual([-1, -1, -1])
    for (const value of [-1, 2 ** 31, Number.NaN]) expect(() => table.set(1, value)).toThrow(AssertionError)
    expect(() => table.set(0, 1)).toThrow(AssertionError)
  })
})

describe('0 bytes', () => {
  test('per push and shift of a ring, and per slot that is taken and given back', () => {
    const ring = new Ring<number>(64)
    const slots = new SlotTable(64)
    const bytes = bytesPerOperation(50_000, (count) => {
      for (let n = 0; n < count; n++) {
        ring.pushDroppingOldest(n)
        if (n % 3 === 0) ring.shift()
        slots.release(slots.acquire())
      }
    })
    expect(bytes).toBeLessThan(0.5)
  })

  test('per look-up and change in a uid table', () => {
    const table = new UidTable({ entriesMax: 2_000, entriesAtStart: 2_000 })
    for (let n = 1; n <= 900; n++) table.set(n * 0x1_0000_0001, n)
    for (let n = 1; n <= 900; n++) table.set(n, n)
    let found = 0
    const bytes = bytesPerOperation(50_000, (count) => {
      for (let n = 0; n < count; n++) {
        if (table.get((n & 1_023) * 0x1_0000_0001) >= 0) found++
        table.set((n % 900) + 1, n)
      }
    })
    expect(found).toBeGreaterThan(0)
    expect(bytes).toBeLessThan(0.5)
  })
})

test('buyers spread evenly over the slots, high halves of the uid too', () => {
  const counts = new Uint32Array(SLOT_COUNT)
  for (let n = 1; n <= 200_000; n++) counts[slotOf(n * 0x1_0000_0001)] = (counts[slotOf(n * 0x1_0000_0001)] ?? 0) + 1
  const mean = 200_000 / SLOT_COUNT
  const chi = counts.reduce((sum, count) => sum + (count - mean) ** 2 / mean, 0)
  expect(chi).toBeLessThan(1_200) // 1,023 degrees of freedom: mean 1,023, deviation 45
  expect(hashUid(1)).not.toBe(hashUid(1 + 2 ** 32))
})

test('waits double up to the most, and jitter stays within its bounds', () => {
  const wait = (attempt: number, draw: number) => backoffMs({ attempt, baseMs: 100, maxMs: 1_000, draw })
  expect([0, 1, 2, 3, 4, 50].map((attempt) => wait(attempt, 1))).toEqual([100, 200, 400, 800, 1_000, 1_000])
  expect(wait(0, 0)).toBe(50)
  expect([jitterMs(1_000, 0), jitterMs(1_000, 1)]).toEqual([800, 1_200])
})

test('faults carry a code and their cause, bugs are assertions', () => {
  const fault = new CodedError({ code: 'LINK_LOST', message: 'link lost', cause: new Error('reset') })
  expect(hasCode(fault, 'LINK_LOST')).toBe(true)
  expect(hasCode(new Error('x'), 'LINK_LOST')).toBe(false)
  expect(() => assert(false, 'slot out of range')).toThrow(AssertionError)
})
