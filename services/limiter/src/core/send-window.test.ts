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

test('a node that answers few has few under way within half a second, so that the way takes about 10 ms', () => {
  const { size } = run(10, FIRST_WINDOW, { perMs: 4, wayMs: 1 })
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
  expect(least).toBeGreaterThanOrEqual(WINDOW_INITIAL / 4)
  expect(small).toBeLessThan(400 * 0.1)
})

test('a window that is not full says nothing', () => {
  expect(moveWindow(FIRST_WINDOW, { isFull: false, roundMs: 90, servedPerMs: 1 }).size).toBe(WINDOW_INITIAL)
})
