import { expect, test } from 'vitest'
import { History, POINTS_MAX, REACH_MS } from './history.ts'

test.each([900, 1_000, 5_000])(
  'a series holds the last 300 s, the oldest first, with a point each %d ms',
  (everyMs) => {
    const history = new History()
    for (let round = 1; round <= 2 * POINTS_MAX; round++) {
      history.begin(round * everyMs)
      history.record('totals', { askRate: round })
    }

    const pairs = history.read('totals', 'askRate') ?? []

    expect(pairs).toHaveLength(Math.ceil(REACH_MS / everyMs))
    expect(pairs.at(-1)).toEqual([2 * POINTS_MAX * everyMs, 2 * POINTS_MAX])
    expect(pairs[0]?.[1]).toBe(2 * POINTS_MAX - pairs.length + 1)
  },
)

test('rounds without a value are gaps, not zeros', () => {
  const history = new History()
  for (const second of [1, 2, 3]) {
    history.begin(second)
    history.record('totals', second === 2 ? {} : { free: second })
  }

  expect(history.read('totals', 'free')).toEqual([
    [1, 1],
    [3, 3],
  ])
  expect(history.read('totals', 'held')).toBeUndefined()
})

test('a series that had no value for all rounds that are kept is forgotten and makes room', () => {
  const history = new History(1)
  history.begin(0)
  history.record('node:a', { cpu: 1, rss: 2 })
  expect([history.size, history.refused]).toEqual([1, 1])

  for (let round = 1; round <= POINTS_MAX; round++) history.begin(round)

  expect([...history.names()]).toEqual([])
  history.record('node:b', { cpu: 1 })
  expect([...history.names()]).toEqual([['node:b', 'cpu']])
})
