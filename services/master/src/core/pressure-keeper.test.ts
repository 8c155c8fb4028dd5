import { PRESSURE_FACTOR_MIN, parsePressureDoc } from '@bigtap/domain'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DOWN_EVERY_MS, type Pressure, type PressureState, startPressure, stepPressure, UP } from './pressure-keeper.ts'

const TICK_MS = 100
const waits = (waitMs: number, ageMs = 0): Pressure => {
  return { node: 'counter-1', role: 'counter', waitMs, targetMs: 50, ageMs }
}

/** Lets ticks pass with the same reports. */
function during(state: PressureState, from: number, ms: number, reports: readonly Pressure[]): PressureState {
  let next = state
  for (let now = from; now < from + ms; now += TICK_MS) next = stepPressure(next, now, reports).state
  return next
}

test('a counter that waits twice as long as it may halves the pace in the same tick', () => {
  const { state, publish } = stepPressure(startPressure(), 1_000, [waits(100)])

  expect(state.factor).toBe(0.5)
  expect(publish).toEqual({ factor: 0.5, reason: 'counter counter-1 waits 100 ms, target 50 ms', at: 1_000 })
})

test('how far above the target decides how far the pace falls', () => {
  const factorOf = (waitMs: number) => stepPressure(startPressure(), 1_000, [waits(waitMs)]).state.factor

  expect(factorOf(50)).toBe(1)
  expect(factorOf(51)).toBe(0.95)
  expect(factorOf(75)).toBeCloseTo(0.667, 3)
  expect(factorOf(100_000)).toBe(0.5)
})

test('the same wait does not lower the pace twice before the first step can have worked', () => {
  const first = stepPressure(startPressure(), 1_000, [waits(75)]).state

  expect(stepPressure(first, 1_100, [waits(75)]).publish).toBeUndefined()
  expect(stepPressure(first, 1_000 + DOWN_EVERY_MS, [waits(75)]).publish?.factor).toBeCloseTo(0.444, 3)
})

test('a wait that has doubled meanwhile lowers it at once', () => {
  const first = stepPressure(startPressure(), 1_000, [waits(75)]).state

  expect(stepPressure(first, 1_100, [waits(150)]).publish?.factor).toBeCloseTo(0.333, 3)
})

test('the pace rises slowly, and is whole again ten seconds after the floor', () => {
  const floor = during(startPressure(), 0, 10_000, [waits(500)])
  expect(floor.factor).toBe(PRESSURE_FACTOR_MIN)

  expect(during(floor, 10_000, 900, []).factor).toBeCloseTo(0.1)
  expect(during(floor, 10_000, 11_000, []).factor).toBe(1)
})

test('what is older than a second does not count, nor what is below its target', () => {
  const reports = [waits(500, 1_001), waits(50)]

  expect(stepPressure(startPressure(), 1_000, reports).publish).toBeUndefined()
})

test('the worst of the services counts, each against its own target', () => {
  const order = { node: 'order-1', role: 'order', waitMs: 12_000, targetMs: 10_000, ageMs: 0 }

  const { publish } = stepPressure(startPressure(), 1_000, [order, waits(100)])

  expect(publish?.reason).toContain('counter-1')
})

test('a new leader goes on from what is published', () => {
  const doc = { factor: 0.3, reason: 'counter counter-1 waits 90 ms, target 50 ms', at: 900 }

  expect(stepPressure(startPressure(doc, 1_000), 1_100, []).publish).toBeUndefined()
  expect(stepPressure(startPressure(doc, 1_000), 1_500, []).publish).toEqual({ ...doc, factor: 0.35, at: 1_500 })
})

const history = fc.array(
  fc.record({
    passMs: fc.integer({ min: -2_000, max: 5_000 }),
    reports: fc.array(
      fc.record({
        node: fc.string(),
        role: fc.constantFrom('cart', 'counter', 'order'),
        waitMs: fc.double({ min: 0, noNaN: true }),
        targetMs: fc.integer({ min: 0, max: 60_000 }),
        ageMs: fc.integer({ min: -1_000, max: 5_000 }),
      }),
      { maxLength: 4 },
    ),
  }),
  { maxLength: 60 },
)

test('whatever is reported and whatever the clock does, the factor stays within its bounds and moves by one step', () => {
  fc.assert(
    fc.property(history, (steps) => {
      let state = startPressure()
      let now = 1_000_000
      for (const { passMs, reports } of steps) {
        now += passMs
        const { state: next, publish } = stepPressure(state, now, reports)
        expect(next.factor).toBeGreaterThanOrEqual(PRESSURE_FACTOR_MIN)
        expect(next.factor).toBeLessThanOrEqual(Math.min(1, state.factor + UP.by + 0.001))
        expect(next.factor).toBeGreaterThanOrEqual(state.factor * 0.5 - 1e-9)
        expect(publish === undefined).toBe(next.factor === state.factor)
        state = next
      }
    }),
    { seed: 1 },
  )
})

test('whatever happened before, calm brings the whole pace back', () => {
  fc.assert(
    fc.property(history, (steps) => {
      let state = startPressure()
      let now = 1_000_000
      for (const { passMs, reports } of steps) {
        now += passMs
        state = stepPressure(state, now, reports).state
      }
      expect(during(state, now, 11_000, []).factor).toBe(1)
    }),
    { seed: 1 },
  )
})

test('every document that is published is one that the fronts take', () => {
  fc.assert(
    fc.property(history, (steps) => {
      let state = startPressure()
      let now = 1_000_000
      for (const { passMs, reports } of steps) {
        now = Math.max(0, now + passMs)
        const step = stepPressure(state, now, reports)
        state = step.state
        if (step.publish !== undefined) expect(parsePressureDoc(step.publish)).toMatchObject({ ok: true })
      }
    }),
    { seed: 1 },
  )
})
