import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CallOnce } from './call-once.ts'

test('over however many routers a call comes, it is done once', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 200 }), (sequences) => {
      const calls = new CallOnce()
      const done = sequences.filter((sequence) => calls.isFirst(1, sequence))

      expect(done.toSorted((a, b) => a - b)).toEqual([...new Set(sequences)].toSorted((a, b) => a - b))
    }),
    { seed: 2, numRuns: 200 },
  )
})

test('a new leader counts anew, and the old one is heard no more', () => {
  const calls = new CallOnce()
  calls.isFirst(1, 5)

  expect([calls.isFirst(2, 5), calls.isFirst(2, 5), calls.isFirst(1, 6)]).toEqual([true, false, false])
})

test('its memory is bounded: what is older than all that it remembers counts as done', () => {
  const calls = new CallOnce()
  for (let sequence = 1; sequence <= 100_000; sequence++) calls.isFirst(1, sequence)

  expect(calls.remembered).toBe(1_024)
  expect([calls.isFirst(1, 3), calls.isFirst(1, 99_999), calls.isFirst(1, 100_001)]).toEqual([false, false, true])
})
