/** Limits of access with two limiters: one budget for both, shared out by traffic, and changed while the sale is open. */

import { waitFor } from '@bigtap/testkit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openShop, type Sale, type Shop, sleep } from './shop.ts'

const BUDGET_PER_SECOND = 100
const SETTLE_MS = 5_000
const WINDOW_MS = 12_000
/** Each asks two or three times a second, as one does who taps: 160 a second at one limiter, 80 at the other. */
const BUYERS = [64, 32] as const
const PAUSE_MS = 400

interface Buyer {
  readonly session: string
  readonly url: string
}

let shop: Shop
let sale: Sale

beforeAll(async () => {
  shop = await openShop(5)
  sale = await shop.sell({ stock: 100, policy: { pacePerSecond: 1_000 } })
}, 180_000)

afterAll(async () => {
  await shop?.close()
})

const limiterUrls = () => shop.platform.ports.limiters.map((port) => `http://127.0.0.1:${port}`)

async function buyersAt(origin: string, count: number): Promise<Buyer[]> {
  const sessions = await Promise.all(Array.from({ length: count }, () => shop.signIn()))
  return Promise.all(
    sessions.map(async (session) => ({ session, url: `${origin}${(await shop.path(sale, session)).body.path}` })),
  )
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
  const counts = groups.map(() => ({ admitted: 0, refused: 0, other: 0 }))
  const crowd = groups.flatMap((buyers, index) =>
    buyers.map(async (buyer, place) => {
      await sleep((place * PAUSE_MS) / buyers.length)
      const count = counts[index]
      while (Date.now() < until) {
        const status = await ask(buyer)
        const isCounted = Date.now() >= from && Date.now() < until
        // Past the limit the first is granted, and again to the same buyer; later ones find it sold out or held.
        if (isCounted && count !== undefined) count[status === 429 ? 'refused' : status < 500 ? 'admitted' : 'other']++
        await sleep(PAUSE_MS)
      }
    }),
  )
  await Promise.all(crowd)

  const admitted = counts.reduce((sum, count) => sum + count.admitted, 0)
  const due = (BUDGET_PER_SECOND * WINDOW_MS) / 1_000
  expect({ counts, ratio: admitted / due }).toEqual({ counts, ratio: expect.closeTo(1, 1) })
  expect(admitted / due).toBeGreaterThan(0.95)
  expect(admitted / due).toBeLessThan(1.05)
  for (const { refused, other } of counts) expect([refused > 0, other]).toEqual([true, 0])
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
