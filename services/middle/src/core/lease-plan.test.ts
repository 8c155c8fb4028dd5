import { DEFAULT_POLICY, type Figures, NO_FIGURES, type Policy, type SkuState, stateByFigures } from '@bigtap/domain'
import { SeededRandom } from '@bigtap/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planLease, smoothDemand, TICK_MS } from './lease-plan.ts'

interface Node {
  available: number
  demand: number
  backlog: number
}

/** The ledger's side, as lease-1 does it, without a pace. */
class Pool {
  readonly stock: number
  pool: number
  sold = 0

  constructor(stock: number) {
    this.stock = stock
    this.pool = stock
  }

  figures(nodes: readonly Node[]): Figures {
    const leased = nodes.reduce((sum, node) => sum + node.available, 0)
    const { stock, pool, sold } = this
    return { ...NO_FIGURES, stock, free: stock - sold, sold, quota: stock, pool, leased, redeemed: sold }
  }

  tick(node: Node, nodes: readonly Node[], policy: Policy): void {
    const wanted = node.backlog
    const granted = Math.min(node.available, wanted)
    node.available -= granted
    node.backlog -= granted
    this.sold += granted
    node.demand = smoothDemand(node.demand, wanted)
    const figures = this.figures(nodes)
    const state = stateByFigures(figures, policy)
    const { want, giveBack } = planLease({ ...node, state, policy, figures, nodes: nodes.length })
    expect(giveBack).toBeLessThanOrEqual(node.available)
    const taken = Math.min(want, this.pool + giveBack)
    this.pool += giveBack - taken
    node.available += taken - giveBack
    expect(this.pool).toBeGreaterThanOrEqual(0)
  }
}

test.each([
  [1, 2],
  [3, 2],
  [500, 2],
  [10_000, 4],
  [7, 16],
])('all %i units sell though of %i nodes only one has buyers', (stock, count) => {
  const pool = new Pool(stock)
  const nodes = Array.from({ length: count }, (): Node => ({ available: 0, demand: 0, backlog: 0 }))
  for (let tick = 0; tick < 20; tick++) for (const node of nodes) pool.tick(node, nodes, DEFAULT_POLICY)
  const [first] = nodes
  if (first === undefined) throw new Error('no node')
  first.backlog = stock * 2

  for (let tick = 0; tick < 400 && pool.sold < stock; tick++)
    for (const node of nodes) pool.tick(node, nodes, DEFAULT_POLICY)

  expect(pool.sold).toBe(stock)
})

test.each([1, 2, 3, 4])('all units sell whatever the demand and the thresholds do (seed %i)', (seed) => {
  const random = new SeededRandom(seed)
  const pool = new Pool(2_000)
  const nodes = Array.from({ length: 3 }, (): Node => ({ available: 0, demand: 0, backlog: 0 }))
  let policy: Policy = DEFAULT_POLICY
  for (let tick = 0; tick < 6_000 && pool.sold < 2_000; tick++) {
    if (random.next() < 0.05) policy = { ...policy, taperAt: random.next(), trickleAt: Math.floor(random.next() * 50) }
    for (const node of nodes) {
      if (random.next() < 0.1) node.backlog += Math.floor(random.next() * 100)
      pool.tick(node, nodes, policy)
      const { free, pool: rest, leased } = pool.figures(nodes)
      expect(rest + leased).toBe(free)
    }
  }
  expect(pool.sold).toBe(2_000)
})

test('a nearly empty pool leases one at a time, and nothing where nobody asks', () => {
  const figures = { ...NO_FIGURES, stock: 100, free: 10, pool: 10, quota: 100 }
  const question = { state: 'tapering' as const, policy: DEFAULT_POLICY, figures, available: 0, nodes: 2 }

  expect(planLease({ ...question, demand: 500 }).want).toBe(1)
  expect(planLease({ ...question, demand: 0 }).want).toBe(0)
  expect(planLease({ ...question, demand: 0, available: 4 }).giveBack).toBe(4)
})

const paced = {
  state: 'releasing' as const,
  policy: { ...DEFAULT_POLICY, pacePerSecond: 1_000 },
  figures: { ...NO_FIGURES, stock: 10_000, free: 10_000, pool: 10_000, quota: 10_000 },
  available: 0,
  nodes: 3,
}

test('a node wants its share of the pace by demand, and more of a chunk only where others leave it', () => {
  expect(planLease({ ...paced, demand: 300, clusterDemand: 900 })).toMatchObject({ want: 17, more: 33 })
  expect(planLease({ ...paced, demand: 900, clusterDemand: 900 })).toMatchObject({ want: 50, more: 0 })
  expect(planLease({ ...paced, demand: 5, clusterDemand: 900 })).toMatchObject({ want: 1, more: 4 })
})

test('a node that was late takes the share of that time too, but of no more than two ticks', () => {
  const late = { ...paced, demand: 300, clusterDemand: 900 }

  expect(planLease({ ...late, sinceMs: 25 }).want).toBe(9)
  expect(planLease({ ...late, sinceMs: 75 }).want).toBe(25)
  expect(planLease({ ...late, sinceMs: 10_000 }).want).toBe(34)
})

test('under a pace a node without buyers keeps no more than an eighth of its share ready', () => {
  expect(planLease({ ...paced, demand: 0 }).want + planLease({ ...paced, demand: 0 }).more).toBe(2)
  expect(planLease({ ...paced, demand: 0, policy: { ...paced.policy, pacePerSecond: 40 } }).more).toBe(0)
})

test('when a pace comes or falls, what is above one chunk goes back at once, however many buyers ask', () => {
  expect(planLease({ ...paced, demand: 9_000, available: 5_000 })).toMatchObject({ want: 0, more: 0, giveBack: 4_950 })
})

test('pressure makes chunks smaller, also where there is no pace', () => {
  const pacing = { factor: 0.1, unpacedPerSecond: 2_000 }
  const unpaced = { ...paced, policy: DEFAULT_POLICY }

  expect(planLease({ ...paced, pacing, demand: 900, available: 50 }).giveBack).toBe(45)
  expect(planLease({ ...unpaced, pacing, demand: 900 })).toMatchObject({ want: 10, pacePerSecond: 200 })
})

test('a small pace is one place at a time', () => {
  for (const pacePerSecond of [0.5, 2, 20]) {
    const slow = { ...paced, policy: { ...DEFAULT_POLICY, pacePerSecond } }

    expect(planLease({ ...slow, demand: 300, clusterDemand: 900 })).toMatchObject({ want: 1, more: 0 })
  }
})

test('whatever a node knows, it never gives back what it has not, and never wants more than a chunk of a pace', () => {
  const amounts = fc.integer({ min: 0, max: 100_000 })
  const demands = fc.double({ min: 0, max: 1e6, noNaN: true })
  const questions = fc.record({
    state: fc.constantFrom('releasing', 'tapering', 'trickling', 'exhausted', 'paused') as fc.Arbitrary<SkuState>,
    policy: fc.record({
      ...Object.fromEntries(Object.entries(DEFAULT_POLICY).map(([name, value]) => [name, fc.constant(value)])),
      pacePerSecond: fc.option(fc.double({ min: 0.01, max: 1e6, noNaN: true })),
    }) as fc.Arbitrary<Policy>,
    figures: amounts.map((pool) => ({ ...NO_FIGURES, pool })),
    available: amounts,
    demand: demands,
    nodes: fc.integer({ min: 1, max: 100 }),
    clusterDemand: demands,
    sinceMs: fc.integer({ min: -1_000, max: 10_000 }),
    pacing: fc.record({ factor: fc.double({ min: 0.05, max: 1, noNaN: true }), unpacedPerSecond: demands }),
  })
  fc.assert(
    fc.property(questions, (question) => {
      const { want, more, giveBack, pacePerSecond } = planLease(question)

      for (const count of [want, more, giveBack]) expect(Number.isSafeInteger(count) && count >= 0).toBe(true)
      expect(giveBack).toBeLessThanOrEqual(question.available)
      const chunk = pacePerSecond === null ? 0 : Math.max(1, Math.ceil(pacePerSecond * 0.05))
      if (pacePerSecond === null) expect(more).toBe(0)
      else if (question.state === 'releasing')
        expect(question.available - giveBack + want + more).toBeLessThanOrEqual(chunk)
    }),
    { seed: 1 },
  )
})

test('a shut gate gives everything back', () => {
  const figures = { ...NO_FIGURES, stock: 10, free: 10, pool: 5, leased: 5, quota: 10 }
  const question = { policy: DEFAULT_POLICY, figures, available: 5, demand: 9, nodes: 1 }

  expect(planLease({ ...question, state: 'paused' })).toMatchObject({ want: 0, giveBack: 5 })
  expect(planLease({ ...question, state: 'exhausted' })).toMatchObject({ want: 1, giveBack: 5 })
})

test('a lone buyer who comes back as told finds the place that was leased for the first ask', () => {
  const COMES_BACK_MS = 1_200
  let demand = smoothDemand(0, 1)
  for (let ms = 0; ms < COMES_BACK_MS; ms += TICK_MS) demand = smoothDemand(demand, 0)
  const figures = { ...NO_FIGURES, stock: 5, free: 5, quota: 5, pool: 4, leased: 1 }
  const question = { state: 'releasing', policy: DEFAULT_POLICY, figures, available: 1, demand, nodes: 2 } as const

  expect(planLease(question).giveBack).toBe(0)

  for (let ms = 0; ms < 4_000; ms += TICK_MS) demand = smoothDemand(demand, 0)
  expect(planLease({ ...question, demand }).giveBack).toBe(1)
})
