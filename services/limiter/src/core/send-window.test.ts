import { expect, test } from 'vitest'
import { FIRST_WINDOW, moveWindow, WINDOW_INITIAL, WINDOW_MAX, WINDOW_MIN, type WindowState } from './send-window.ts'

/** Looks at a node that answers so many per ms and has this way there and back when nobody else waits; full all the time. */
function run(looks: number, from: WindowState, { perMs, wayMs }: { perMs: number; wayMs: number }): WindowState {
  let state = from
  for (let n = 0; n < looks; n++) {
    const servedPerMs = Math.min(perMs, state.size / wayMs)
    state = moveWindow(state, { isFull: true, roundMs: state.size / servedPerMs, servedPerMs })
  }
  return state
}

test('a node that answers few has few under way within a second, so that the way takes about 10 ms', () => {
  const { size } = run(20, FIRST_WINDOW, { perMs: 4, wayMs: 1 })
  expect(size).toBeGreaterThanOrEqual(WINDOW_MIN)
  expect(size).toBeLessThanOrEqual(60)
})

test('a node that answers many gets as many as it can take', () => {
  expect(run(100, FIRST_WINDOW, { perMs: 300, wayMs: 1 }).size).toBeGreaterThan(1_500)
  expect(run(500, FIRST_WINDOW, { perMs: 10_000, wayMs: 1 }).size).toBe(WINDOW_MAX)
})

test('a way that is long by itself is no reason to send less', () => {
  let least = Number.POSITIVE_INFINITY
  let state = FIRST_WINDOW
  let small = 0
  for (let n = 0; n < 400; n++) {
    state = run(1, state, { perMs: 1_000, wayMs: 30 })
    least = Math.min(least, state.size)
    if (state.size < WINDOW_INITIAL) small++
  }
  expect(least).toBeGreaterThanOrEqual(WINDOW_INITIAL / 2)
  expect(state.size).toBeGreaterThan(WINDOW_INITIAL)
  expect(small).toBeLessThan(400 * 0.15)
})

test('a window that is not full says nothing', () => {
  expect(moveWindow(FIRST_WINDOW, { isFull: false, roundMs: 30, servedPerMs: 1 }).size).toBe(WINDOW_INITIAL)
})

test('asks that have no answer in their time make it small within a third of a second, whatever else is seen', () => {
  let state = FIRST_WINDOW
  for (let n = 0; n < 6; n++) state = moveWindow(state, { isFull: true, roundMs: 100, servedPerMs: 1 })
  expect(state.size).toBe(WINDOW_MIN)
})
