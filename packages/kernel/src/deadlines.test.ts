import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DeadlineSweep } from './deadlines.ts'
import { SlotTable } from './slots.ts'
import { bytesPerOperation } from './test-support/bytes-per-operation.ts'

const CAPACITY = 8
const action = fc.oneof(
  fc.record({ set: fc.nat(CAPACITY - 1), dueMs: fc.nat(100) }),
  fc.record({ clear: fc.nat(CAPACITY - 1) }),
  fc.record({ passMs: fc.nat(30) }),
)

test('every deadline is reported once, at the first sweep after it, whatever is set and cleared', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 100 }), (actions) => {
      const deadlines = new DeadlineSweep(CAPACITY)
      const model = new Map<number, number>()
      let nowMs = 0
      for (const one of actions) {
        if ('set' in one) {
          deadlines.set(one.set, nowMs + one.dueMs)
          model.set(one.set, nowMs + one.dueMs)
        } else if ('clear' in one) {
          expect(deadlines.clear(one.clear)).toBe(model.delete(one.clear))
        } else {
          nowMs += one.passMs
          const reported: number[] = []
          expect(deadlines.sweep(nowMs, (handle) => reported.push(handle))).toBe(reported.length)
          const expected = [...model].filter(([, dueMs]) => dueMs <= nowMs).map(([handle]) => handle)
          expect(reported).toEqual(expected.sort((a, b) => a - b))
          for (const handle of expected) model.delete(handle)
        }
      }
    }),
    { seed: 1 },
  )
})

test('who left a slot cannot take back the deadline of who came after', () => {
  const slots = new SlotTable(1)
  const deadlines = new DeadlineSweep(1)
  const first = slots.acquire()
  deadlines.set(first, 10)
  slots.release(first)
  const second = slots.acquire()
  deadlines.set(second, 20)

  expect(deadlines.clear(first)).toBe(false)

  const reported: number[] = []
  deadlines.sweep(20, (handle) => reported.push(handle))
  expect(reported).toEqual([second])
})

test('a deadline that is set while another is reported is not lost', () => {
  const deadlines = new DeadlineSweep(4)
  const reported: number[] = []
  deadlines.set(2, 10)
  deadlines.sweep(10, () => deadlines.set(0, 15))

  deadlines.sweep(14, (handle) => reported.push(handle))
  expect(reported).toEqual([])
  deadlines.sweep(15, (handle) => reported.push(handle))
  expect(reported).toEqual([0])
})

test('to set, clear and sweep takes 0 bytes', () => {
  const deadlines = new DeadlineSweep(64)
  const onDue = () => undefined
  let now = 0

  const bytes = bytesPerOperation(20_000, (count) => {
    for (let n = 0; n < count; n++) {
      now = (now + 1) & 0xffff
      deadlines.set(n & 63, now + 5)
      deadlines.clear((n + 7) & 63)
      deadlines.sweep(now, onDue)
    }
  })

  expect(bytes).toBeLessThan(0.5)
})
