import { FakeClock } from '@bigtap/testkit'
import { beforeEach, expect, test } from 'vitest'
import { History } from './core/history.ts'
import { Keyspace } from './core/keyspace.ts'
import { Memory } from './core/memory.ts'
import { Ticker } from './ticker.ts'

let clock: FakeClock
let memory: Memory
let history: History
let ticker: Ticker
let told: [at: number, channel: string][]
let startedAt: number

beforeEach(() => {
  clock = new FakeClock()
  startedAt = clock.now()
  memory = new Memory()
  history = new History()
  told = []
  const keyspace = new Keyspace({ memory, history, now: () => clock.monotonic() })
  const publisher = {
    hasListener: (channel: string) => channel === 'tick' || channel === 'sku:1:2',
    publish: (channel: string) => void told.push([clock.now() - startedAt, channel]),
  }
  ticker = new Ticker({ memory, history, keyspace, publisher, clock, onTick: () => undefined })
})

function tell(free: number): void {
  const skus = [1, 2].map((skuId) => ({ activityId: 1, skuId, state: 'releasing', figures: { free } }))
  const stats = { nodeId: 'a', role: 'middle', at: clock.now(), figures: {}, labels: {}, skus }
  memory.apply(stats, { by: 'pull', now: clock.monotonic(), wall: clock.now() })
}

/** Moves on to `ms` after the start, looking each 50 ms. */
function goTo(ms: number): void {
  while (clock.now() - startedAt < ms) {
    clock.advance(50)
    ticker.look()
  }
}

test('ticks come with the ends of the rounds, also after one that ended late', () => {
  for (const roundEndsAt of [50, 1_050, 2_450, 3_050, 4_050, 5_050]) {
    goTo(roundEndsAt)
    ticker.onRound()
  }

  const ticks = told.map(([at]) => at)
  expect(ticks.slice(0, 2)).toEqual([50, 1_050])
  expect(ticks.slice(-3)).toEqual([3_050, 4_050, 5_050])
  expect(ticks).toHaveLength(6)
})

test('without any round there is a tick a second all the same', () => {
  goTo(10_000)

  expect(told.length).toBeGreaterThanOrEqual(9)
  expect(history.read('totals', 'nodes')).toHaveLength(told.length)
})

test('the channel of a SKU speaks when something but its age has changed', () => {
  const spoken = () => told.filter(([, channel]) => channel.startsWith('sku')).map(([at, channel]) => [at, channel])
  tell(5)
  ticker.tick()
  clock.advance(1_000)
  tell(5)
  ticker.tick()
  clock.advance(1_000)
  tell(4)
  ticker.tick()

  expect(spoken()).toEqual([
    [0, 'sku:1:2'],
    [2_000, 'sku:1:2'],
  ])
})
