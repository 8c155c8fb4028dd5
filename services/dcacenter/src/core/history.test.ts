import { expect, test } from 'vitest'
import { History, POINTS_MAX } from './history.ts'

test('a series holds the last 300 s, the oldest first', () => {
  const history = new History()
  for (let second = 1; second <= POINTS_MAX + 5; second++) {
    history.begin(second * 1_000)
    history.record('totals', { askRate: second })
  }

  const pairs = history.read('totals', 'askRate') ?? []

  expect(pairs).toHaveLength(POINTS_MAX)
  expect([pairs[0], pairs.at(-1)]).toEqual([
    [6_000, 6],
    [305_000, 305],
  ])
})

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

test('a series that had no value for 300 rounds is forgotten and makes room', () => {
  const history = new History(1)
  history.begin(0)
  history.record('node:a', { cpu: 1, rss: 2 })
  expect([history.size, history.refused]).toEqual([1, 1])

  for (let round = 1; round <= POINTS_MAX; round++) history.begin(round)

  expect([...history.names()]).toEqual([])
  history.record('node:b', { cpu: 1 })
  expect([...history.names()]).toEqual([['node:b', 'cpu']])
})
