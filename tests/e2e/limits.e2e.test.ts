/** Limits of access with two limiters: one budget for both, shared out by traffic, and changed while the sale is open. */

import { waitFor } from '@bigtap/testkit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openShop, type Sale, type Shop, sleep } from './shop.ts'

const BUDGET_PER_SECOND = 100
const SETTLE_MS = 5_000
const WINDOW_MS = 12_000
/** Each asks each three to five seconds, as people do: 160 a second at one limiter, 80 at the other. */
const BUYERS = [640, 320] as const
const PAUSE_MS = { least: 3_000, most: 5_000 } as const
const PASSED: readonly number[] = [200, 202, 503]

interface Buyer {
  readonly session: string
  readonly url: string
}

let shop: Shop
let sale: Sale

beforeAll(async () => {
  shop = await openShop(5)
  sale = await shop.sell({ stock: 2_000, policy: { pacePerSecond: 1_000, tokenSeconds: 60 } })
}, 180_000)

afterAll(async () => {
  await shop?.close()
})

const limiterUrls = () => shop.platform.ports.limiters.map((port) => `http://127.0.0.1:${port}`)

async function buyersAt(origin: string, count: number): Promise<Buyer[]> {
  const buyers: Buyer[] = []
  while (buyers.length < count) {
    const few = Math.min(32, count - buyers.length)
    const made = Array.from({ length: few }, async () => {
      const session = await shop.signIn()
      return { session, url: `${origin}${(await shop.path(sale, session)).body.path}` }
    })
    buyers.push(...(await Promise.all(made)))
  }
  return buyers
}

/** The status of one ask, whose body is not looked at. */
async function ask({ session, url }: Buyer): Promise<number> {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${session}` } })
  await answer.body?.cancel()
  return answer.status
}

const setLimits = (accessLimits: unknown) => shop.admin.call('PATCH', `activities/${sale.activityId}`, { accessLimits })

test('two limiters together admit the budget, though one has twice the traffic of the other', async () => {
  const limit = { scope: 'global', algorithm: 'token-bucket', seconds: 1, maxCount: BUDGET_PER_SECOND, burst: 10 }
  await setLimits([limit])
  const groups = await Promise.all(BUYERS.map((count, index) => buyersAt(limiterUrls()[index] ?? '', count)))
  const from = Date.now() + SETTLE_MS
  const until = from + WINDOW_MS
  const counts = groups.map(() => new Map<number, number>())
  const pauseMs = () => PAUSE_MS.least + Math.random() * (PAUSE_MS.most - PAUSE_MS.least)
  const crowd = groups.flatMap((buyers, index) =>
    buyers.map(async (buyer) => {
      await sleep(Math.random() * PAUSE_MS.most)
      while (Date.now() < until) {
        const status = await ask(buyer)
        const count = counts[index]
        if (Date.now() >= from && Date.now() < until) count?.set(status, (count.get(status) ?? 0) + 1)
        await sleep(pauseMs())
      }
    }),
  )
  await Promise.all(crowd)

  // Who has passed the limit has a grant (the same one again), is told to wait for one, or finds Middle busy.
  const passed = (count: Map<number, number>) => PASSED.reduce((sum, status) => sum + (count.get(status) ?? 0), 0)
  const admitted = counts.reduce((sum, count) => sum + passed(count), 0)
  const due = (BUDGET_PER_SECOND * WINDOW_MS) / 1_000
  for (const count of counts) {
    expect([...count.keys()].filter((status) => status !== 429 && !PASSED.includes(status))).toEqual([])
    expect(count.get(429)).toBeGreaterThan(0)
  }
  expect(admitted / due).toBeGreaterThan(0.95)
  expect(admitted / due).toBeLessThan(1.05)
}, 120_000)

test('a limit that changes while the sale is open is in force at every limiter, and ends at each when it is taken away', async () => {
  await setLimits([])
  const buyers = (await Promise.all(limiterUrls().map((origin) => buyersAt(origin, 1)))).flat()
  const all = async (isAs: (status: number) => boolean) =>
    (await Promise.all(buyers.map(ask))).every((status) => isAs(status))
  await waitFor('nothing limits', () => all((status) => status !== 429))

  await setLimits([{ scope: 'uid', algorithm: 'fixed-window', seconds: 3_600, maxCount: 1 }])
  await waitFor('each limiter refuses the second ask', () => all((status) => status === 429), 5_000)

  // The one that stays keeps its counts, and the new one begins.
  await setLimits([
    { scope: 'ip', algorithm: 'sliding-window', seconds: 1, maxCount: 100_000 },
    { scope: 'uid', algorithm: 'fixed-window', seconds: 3_600, maxCount: 1 },
  ])
  await sleep(1_500)
  expect(await all((status) => status === 429)).toBe(true)

  await setLimits([])
  await waitFor('nothing limits any more', () => all((status) => status !== 429), 5_000)
}, 60_000)

test('the operator sees who refuses, and what share of the budgets each limiter has', async () => {
  interface Figures {
    readonly nodes: readonly { readonly role: string; readonly figures: Readonly<Record<string, number>> }[]
  }
  const { nodes } = await shop.admin.call<Figures>('GET', 'figures')
  const limiters = nodes.filter(({ role }) => role === 'limiter').map(({ figures }) => figures)

  expect(limiters.length).toBe(2)
  expect(limiters.reduce((sum, figures) => sum + (figures.budgetShare ?? 0), 0)).toBeGreaterThan(0.98)
  for (const figures of limiters) expect(figures['limited.global']).toBeGreaterThan(0)
})
