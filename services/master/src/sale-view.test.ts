import { DEFAULT_POLICY, DEFAULT_WAITING, type Figures, NO_CHALLENGE, NO_FIGURES, NO_RESERVATION } from '@bigtap/domain'
import type { Ledger } from '@bigtap/store'
import { FakeClock } from '@bigtap/testkit'
import { expect, test } from 'vitest'
import { Book } from './book.ts'
import type { SeenNode } from './node-watch.ts'
import { SaleView } from './sale-view.ts'

const clock = new FakeClock()
const stored = { version: 1, createdAt: 0, updatedAt: 0 }
const activity = { id: 7, title: 'Launch', state: 'open', opensAt: 1, closesAt: 2, rule: 'unlimited' } as const
const more = {
  admission: 'direct',
  waiting: DEFAULT_WAITING,
  challenge: NO_CHALLENGE,
  reservation: NO_RESERVATION,
  skuIds: [3],
  accessLimits: [],
  revision: 1,
} as const
const price = { priceCents: 1, currency: 'EUR', imageUrl: '', stock: 5, limitPerBuyer: 1 }
const sku = {
  policyPlan: [],
  id: 3,
  activityId: 7,
  title: 'Phone',
  ...price,
  policy: DEFAULT_POLICY,
  paused: false,
  ...stored,
}
const selling: Figures = { ...NO_FIGURES, stock: 5, free: 4, held: 1, quota: 5, pool: 4, redeemed: 1, reservedTotal: 1 }

function viewOf(figures: Figures, guard: string | undefined, isReady = true): SaleView {
  const book = new Book()
  book.put({ ...activity, ...more, ...stored }, [sku], clock.now())
  const ledger = { figures: async () => new Map([[3, figures]]), guards: { read: async () => guard } }
  const beat: SeenNode = {
    ...{ id: 'middle-1', role: 'middle', state: 'ready', address: 'x:1', statsAddress: '' },
    ...{ revision: 1, digest: '', at: clock.now() - 300, ageMs: 300, isLive: true, isLinked: false, refusals: [] },
    ...{ ackedSequence: undefined, clockOffsetMs: undefined, clockErrorMs: undefined, eventLoopMs: undefined },
  }
  return new SaleView({
    ...{ book, clock, ledger: ledger as unknown as Ledger, nodes: () => [beat], leaderId: 'master-1' },
    store: { ready: () => isReady, runId: 'run' },
    db: { orders: { countsBySku: async () => [] } as never },
  })
}

test('a sale that sells is shown with its figures and no violation', async () => {
  const live = await viewOf(selling, '1:run').live()

  expect(live).toMatchObject({ ok: true, violations: [], nodes: [{ id: 'middle-1', ageMs: 300, isLive: true }] })
  expect(live.activities).toMatchObject([{ id: 7, ledger: 'verified', skus: [{ id: 3, state: 'releasing', free: 4 }] }])
})

test('what does not hold is said with its sale and SKU', async () => {
  const live = await viewOf({ ...selling, free: 5 }, '1:run').live()

  expect(live.ok).toBe(false)
  expect(live.violations).toEqual(['activity 7, SKU 3: free 5 + held 1 + sold 0 is not stock 5'])
})

test('a ledger that is being rebuilt is not judged', async () => {
  const live = await viewOf({ ...selling, free: 5 }, 'rebuilding').live()

  expect(live).toMatchObject({ ok: true, violations: [], activities: [{ ledger: 'rebuilding' }] })
})

test('without Redis the picture has no figures and is still told', async () => {
  const live = await viewOf(selling, '1:run', false).live()

  expect(live).toMatchObject({ isRedisReady: false, violations: [], activities: [{ id: 7, title: 'Launch' }] })
})
