import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Batcher } from './index.ts'

function setUp(itemsMax = 100, bytesMax = 1_000) {
  const flushed: number[] = []
  let waiting = 0
  const flush = () => {
    flushed.push(waiting)
    waiting = 0
  }
  const batcher = new Batcher({ itemsMax, bytesMax }, { flush })
  const add = (bytes = 1) => {
    waiting++
    batcher.added(bytes)
  }
  return { batcher, add, flushed }
}

test('what one turn brings leaves in one flush', async () => {
  const { add, flushed } = setUp()
  for (let i = 0; i < 7; i++) add()
  expect(flushed).toEqual([])

  await turn()

  expect(flushed).toEqual([7])
})

test('a batch that is full by count or by bytes leaves at once', async () => {
  const { add, flushed } = setUp(3, 100)
  for (let i = 0; i < 7; i++) add()
  expect(flushed).toEqual([3, 3])
  add(200)
  expect(flushed).toEqual([3, 3, 2])

  await turn()

  expect(flushed).toEqual([3, 3, 2])
})

test('flush by hand leaves nothing for the turn', async () => {
  const { add, batcher, flushed } = setUp()
  add()
  batcher.flush()
  batcher.flush()

  await turn()

  expect(flushed).toEqual([1])
})
