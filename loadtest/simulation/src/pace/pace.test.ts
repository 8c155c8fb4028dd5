import { DEFAULT_POLICY } from '@bigtap/domain'
import { expect, test } from 'vitest'
import { PaceCluster, type PaceTrial } from './pace-cluster.ts'

const NODES = 3

/** A cluster that has sold for two seconds, asked as often as Middle lets those ask who wait. */
async function selling(pace: number, trial: Partial<PaceTrial> = {}): Promise<PaceCluster> {
  const cluster = new PaceCluster({ stock: 1_000_000, nodes: NODES, seed: 1, ...trial })
  cluster.policy = { ...DEFAULT_POLICY, pacePerSecond: pace }
  await cluster.start()
  cluster.asksPerSecond.fill(Math.max(1_000, pace))
  await cluster.pass(2_000)
  return cluster
}

/** Within a share of the pace, or of one unit where that is more. */
function expectPace(seconds: readonly number[], pace: number, share: number): void {
  for (const count of seconds)
    expect(Math.abs(count - pace), seconds.join(' ')).toBeLessThanOrEqual(Math.max(1, pace * share))
}

test.each([0.5, 3, 10, 20, 40, 150, 500, 2_000])(
  'a pace of %d/s is kept within 2 percent in each second',
  async (pace) => {
    const cluster = await selling(pace, { lateMs: 10 })

    const seconds = await cluster.seconds(20)

    expectPace(seconds, pace, 0.02)
    const total = seconds.reduce((sum, count) => sum + count, 0)
    expect(Math.abs(total - pace * 20)).toBeLessThanOrEqual(Math.max(1, pace * 20 * 0.005))
    expect(cluster.worstSecond()).toBeLessThanOrEqual(pace * 1.05 + 2)
  },
)

test.each([40, 500, 2_000])('at %d/s ticks that come late lose nothing', async (pace) => {
  const cluster = await selling(pace, { lateMs: 60, roundTripMs: 20 })

  expectPace(await cluster.seconds(10), pace, 0.04)
  expect(cluster.grants.length).toBeGreaterThan(pace * 12 * 0.99)
})

test.each([40, 500, 2_000])(
  'at %d/s the second in which a node dies is within 5 percent, and its places come back',
  async (pace) => {
    const cluster = await selling(pace)
    await cluster.pass(500)
    const before = cluster.grants.length
    await cluster.pass(500)
    cluster.kill(2)
    await cluster.pass(500)
    const second = cluster.grants.length - before

    expectPace([second], pace, 0.05)
    expectPace(await cluster.seconds(6), pace, 0.02)
    const { pool, leased, outstanding, quota } = await cluster.figures()
    expect(pool + leased + outstanding).toBe(quota)
    expect(leased).toBeLessThanOrEqual(pace * 0.1 + NODES)
  },
)

test('a machine that stands still for 150 ms makes up for it, and never above the pace and one chunk', async () => {
  const cluster = await selling(500)
  await cluster.pass(200)
  cluster.isStalled = true
  await cluster.pass(150)
  cluster.isStalled = false
  await cluster.pass(4_650)

  expect(cluster.grants.length).toBeGreaterThan(500 * 7 * 0.99)
  // The window is counted in tenths of a second when places are leased; they are granted some ms later.
  expect(cluster.worstSecond()).toBeLessThanOrEqual(525 + 15)
})

test('buyers who come after a lull find one chunk, not all that was not sold meanwhile', async () => {
  const cluster = await selling(500)
  cluster.asksPerSecond.fill(20)
  await cluster.pass(5_000)
  cluster.asksPerSecond.fill(5_000)
  await cluster.pass(3_000)

  expect(cluster.worstSecond()).toBeLessThanOrEqual(500 + 25 + 10)
})

test('all buyers at one node: it has the whole pace', async () => {
  const cluster = await selling(500)
  cluster.asksPerSecond.splice(0, NODES, 3_000, 0, 5)
  await cluster.pass(1_000)

  expectPace(await cluster.seconds(5), 500, 0.02)
})

test.each([
  [500, [1_000, 1_000, 1_000]],
  [500, [3_000, 1_500, 1_500]],
  [40, [1_000, 1_000, 1_000]],
])('at %i/s nodes with %j asks/s sell in that proportion', async (pace, asks) => {
  const cluster = await selling(pace, { lateMs: 5 })
  cluster.asksPerSecond.splice(0, NODES, ...asks)
  await cluster.pass(1_000)
  const before = cluster.nodes.map(({ taken }) => taken)
  await cluster.pass(10_000)

  const all = asks.reduce((sum, count) => sum + count, 0)
  for (const [index, { taken }] of cluster.nodes.entries()) {
    const share = (taken - (before[index] as number)) / (pace * 10)
    expect(Math.abs(share - (asks[index] as number) / all)).toBeLessThan(0.07)
  }
})

test('a pace that changes holds within a second: lower, none, and back', async () => {
  const cluster = await selling(500)
  const change = async (pacePerSecond: number | null) => {
    cluster.policy = { ...DEFAULT_POLICY, pacePerSecond }
    await cluster.pass(300)
    return cluster.seconds(3)
  }

  expectPace(await change(50), 50, 0.05)
  expect(Math.min(...(await change(null)))).toBeGreaterThan(1_000)
  expectPace(await change(500), 500, 0.04)
})

test.each([5, 100, 1_000])('under a pace of %i/s all units sell though a node dies with places', async (pace) => {
  const stock = pace * 3
  const cluster = new PaceCluster({ stock, nodes: NODES, seed: 3, lateMs: 30 })
  cluster.policy = { ...DEFAULT_POLICY, pacePerSecond: pace }
  await cluster.start()
  cluster.asksPerSecond.fill(1_000)
  await cluster.pass(1_000)
  cluster.kill(1)
  await cluster.pass(5_000)

  expect(cluster.grants.length).toBe(stock)
  expect(await cluster.figures()).toMatchObject({ pool: 0, leased: 0, outstanding: stock })
})

test('pressure lowers the pace at once, and what has no pace as well', async () => {
  const cluster = await selling(500)
  cluster.pacing = { factor: 0.2, unpacedPerSecond: 0 }
  await cluster.pass(100)
  expectPace(await cluster.seconds(3), 100, 0.04)

  cluster.policy = DEFAULT_POLICY
  cluster.pacing = { factor: 0.2, unpacedPerSecond: 1_000 }
  await cluster.pass(1_000)
  expectPace(await cluster.seconds(3), 200, 0.04)
})

test.each([1, 2, 3, 4, 5, 6])(
  'whatever demand, lateness and deaths do, no second is above the pace and one chunk (seed %i)',
  async (seed) => {
    const pace = [20, 100, 700][seed % 3] as number
    const cluster = await selling(pace, { seed, lateMs: 50, roundTripMs: 4 + seed })
    let state = seed
    const below = (count: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      return Math.floor((state / 2 ** 32) * count)
    }
    for (let step = 0; step < 30; step++) {
      cluster.asksPerSecond[below(NODES)] = [0, 5, pace, pace * 10][below(4)] as number
      cluster.isStalled = below(10) === 0
      await cluster.pass(below(150))
      cluster.isStalled = false
      if (step === 20) cluster.kill(0)
      await cluster.pass(below(600))
    }

    expect(cluster.worstSecond()).toBeLessThanOrEqual(Math.ceil(pace * 1.1) + NODES + 1)
    const { pool, leased, outstanding, quota } = await cluster.figures()
    expect(pool + leased + outstanding).toBe(quota)
  },
)
