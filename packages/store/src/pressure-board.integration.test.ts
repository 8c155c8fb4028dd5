import { nullLogger } from '@bigtap/kernel'
import { type Engine, startRedis, waitFor } from '@bigtap/testkit'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { connectStore, type Store } from './connection.ts'
import { PRESSURE_NODES_MAX, PressureBoard } from './pressure-board.ts'

let redis: Engine
let store: Store
let board: PressureBoard

beforeAll(async () => {
  redis = await startRedis()
  store = connectStore({ url: redis.url, commandMsMax: 2_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
  board = new PressureBoard(store)
})

beforeEach(async () => void (await store.redis.flushall()))

afterAll(async () => {
  await store.close()
  await redis.stop()
})

const report = (node: string, waitMs: number) => ({ node, role: 'counter', waitMs, targetMs: 50 })

test('what a node said last stands on the board, with its age', async () => {
  await board.report(report('counter-1', 80))
  await board.report(report('counter-1', 120))
  await board.report(report('counter-2', 10))

  const reports = await board.read()

  expect(reports.map(({ node, waitMs }) => [node, waitMs]).sort()).toEqual([
    ['counter-1', 120],
    ['counter-2', 10],
  ])
  await waitFor('the reports grow old', async () => (await board.read()).every(({ ageMs }) => ageMs > 0))
})

test('a foreign value is no report, and leaves the board', async () => {
  await store.redis.hset('bt:{pressure}', 'x', 'nonsense', 'y', `${Date.now()}|{"node":1}`)

  expect(await board.read()).toEqual([])
  expect(await store.redis.hkeys('bt:{pressure}')).toEqual(['y'])
})

test('a full board takes no new node, and goes on with those it knows', async () => {
  for (let node = 0; node < PRESSURE_NODES_MAX; node++) await board.report(report(`counter-${node}`, 80))

  expect(await board.report(report('one-more', 80))).toBe(false)
  expect(await board.report(report('counter-0', 90))).toBe(true)
})
