import fc from 'fast-check'
import { expect, test } from 'vitest'
import { calledMaxOf, type LineQuestion, lineAnswer } from './line.ts'

const NOW = 1_800_000_000_000
const question: LineQuestion = {
  ...{ uid: 7, place: 500, cursor: 100, perSecond: 10, heartbeatMs: 30_000 },
  ...{ now: NOW, callsAt: 0, stillMs: 60_000 },
}

test('a buyer is told how many stand before him, and when his turn will come', () => {
  expect(lineAnswer(question)).toEqual({ ahead: 399, etaMs: 40_000, retryAfterMs: 10_000 })
})

test('who stands far behind asks seldom, who is next asks twice a second', () => {
  expect(lineAnswer({ ...question, place: 101 }).retryAfterMs).toBe(500)
  expect(lineAnswer({ ...question, place: 140 }).retryAfterMs).toBe(2_000)
})

test('whose turn it is comes back at once', () => {
  expect(lineAnswer({ ...question, place: 100 })).toEqual({ ahead: 0, etaMs: 200, retryAfterMs: 200 })
})

test('while the draw collects buyers are told when it ends, and do not all come back at once', () => {
  const told = Array.from({ length: 200 }, (_, uid) =>
    lineAnswer({ ...question, uid: uid + 1, place: 0, cursor: 0, callsAt: NOW + 4_000 }),
  )

  expect(told.every(({ etaMs, ahead }) => etaMs === 4_000 && ahead === 0)).toBe(true)
  expect(new Set(told.map(({ retryAfterMs }) => retryAfterMs)).size).toBeGreaterThan(100)
})

test('whoever does what he is told is heard three times in each heartbeat', () => {
  const number = (max: number) => fc.integer({ min: 0, max })
  const anything = fc.record({
    ...{ uid: fc.integer({ min: 1 }), place: number(1_000_000), cursor: number(1_000_000) },
    ...{
      perSecond: fc.double({ min: 0, max: 100_000, noNaN: true }),
      heartbeatMs: fc.integer({ min: 1_500, max: 600_000 }),
    },
    ...{
      now: fc.constant(NOW),
      callsAt: fc.integer({ min: NOW - 10_000, max: NOW + 100_000 }),
      stillMs: number(3_600_000),
    },
  })
  fc.assert(
    fc.property(anything, (asked) => {
      const { ahead, etaMs, retryAfterMs } = lineAnswer(asked)

      expect(retryAfterMs).toBeGreaterThanOrEqual(200)
      expect(retryAfterMs).toBeLessThanOrEqual(Math.max(500, asked.heartbeatMs / 3))
      expect(ahead).toBe(Math.max(0, asked.place - asked.cursor - 1))
      expect(Number.isInteger(etaMs) && etaMs >= 0).toBe(true)
    }),
  )
})

test('under a pace two seconds of it are called ahead, and at least one', () => {
  expect([null, 0.1, 40].map(calledMaxOf)).toEqual([undefined, 1, 80])
})
