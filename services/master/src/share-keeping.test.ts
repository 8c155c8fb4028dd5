import { nullLogger } from '@bigtap/kernel'
import type { DocumentChange, Tick } from '@bigtap/store'
import { expect, test } from 'vitest'
import type { Book, Sale } from './book.ts'
import type { SeenNode } from './node-watch.ts'
import { ShareKeeping } from './share-keeping.ts'

const START = 1_800_000_000_000

function rig() {
  const published: DocumentChange[] = []
  const state = { now: START, hasRead: true, nodes: [] as Partial<SeenNode>[], sales: [] as object[] }
  const keeping = new ShareKeeping({
    watch: {
      get hasRead() {
        return state.hasRead
      },
      list: () => state.nodes as SeenNode[],
    },
    book: {
      get sales() {
        return new Map(state.sales.map((activity, id) => [id, { activity } as Sale])) as Book['sales']
      },
    },
    publisher: { queue: (changes) => published.push(...changes), flush: async () => undefined },
    clock: { now: () => state.now, monotonic: () => state.now - START },
    logger: nullLogger,
  })
  const tick = (rates: Record<string, number>) =>
    keeping.onTick({
      nodes: Object.entries(rates).map(([id, askRate]) => ({ id, role: 'limiter', labels: {}, figures: { askRate } })),
    } as Pick<Tick, 'nodes'>)
  const rounds = async (ms: number, rates?: Record<string, number>) => {
    for (const until = state.now + ms; state.now < until; state.now += 250) {
      if (rates !== undefined) tick(rates)
      await keeping.round()
    }
  }
  const shareOf = (id: string) => keeping.published?.shares.find(({ nodeId }) => nodeId === id)?.share
  return { state, keeping, published, rounds, shareOf }
}

const limiter = (id: string, isLive = true) => ({ id, role: 'limiter', isLive })
const SALE = { state: 'open', accessLimits: [{ scope: 'global' }] }

test('nothing is shared out before it is known who lives, and then at once', async () => {
  const { state, published, rounds, shareOf } = rig()
  Object.assign(state, {
    hasRead: false,
    nodes: [limiter('a'), limiter('b'), { id: 'm', role: 'middle', isLive: true }],
  })
  await rounds(1_000)
  expect(published).toEqual([])

  state.hasRead = true
  await rounds(250)

  expect([shareOf('a'), shareOf('b'), shareOf('m')]).toEqual([0.5, 0.5, undefined])
})

test('shares follow the figures of dcacenter while a sale needs them, and stand when the figures stop', async () => {
  const { state, rounds, shareOf } = rig()
  Object.assign(state, { nodes: [limiter('a'), limiter('b')], sales: [SALE] })
  await rounds(15_000, { a: 300, b: 100 })
  expect(shareOf('a')).toBeCloseTo(0.7375, 1)

  await rounds(60_000)

  expect(shareOf('a')).toBeCloseTo(0.7375, 1)
})

test('without a sale that shares a budget only who comes and goes is published', async () => {
  const { state, published, rounds, shareOf } = rig()
  Object.assign(state, {
    nodes: [limiter('a'), limiter('b')],
    sales: [{ state: 'open', accessLimits: [{ scope: 'uid' }] }],
  })
  await rounds(60_000, { a: 300, b: 100 })
  expect(published.length).toBe(1)

  state.nodes = [limiter('a'), limiter('b', false)]
  await rounds(250)

  expect([published.length, shareOf('a')]).toEqual([2, 1])
})

test('a new leader repeats the document that it finds', () => {
  const { keeping } = rig()
  expect(keeping.documents()).toEqual([])
  const doc = { shares: [{ nodeId: 'a', share: 0.9 }], at: START - 5_000 }

  keeping.recall(doc)

  expect(keeping.documents()).toEqual([{ key: 'shares', body: doc }])
})
