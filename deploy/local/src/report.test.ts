import { describe, expect, test } from 'vitest'
import { parseArgs } from './args.ts'
import { composeReport, type SaleFacts } from './report.ts'

const sku = {
  activityId: 1,
  skuId: 1,
  stock: 3,
  free: 0,
  held: 0,
  sold: 3,
  pool: 0,
  leased: 0,
  outstanding: 0,
  redeemed: 3,
  orders: 4,
  reservedTotal: 4,
  paid: 3,
  expired: 1,
  cancelled: 0,
  refunds: 0,
  violations: [],
}
const order = (n: number) => ({
  orderId: `o${n}`,
  uid: n,
  skuId: 1,
  kind: 'normal' as const,
  profile: 'normal' as const,
})

function facts(change: Partial<SaleFacts> = {}, skuChange: Partial<typeof sku> = {}): SaleFacts {
  const parsed = parseArgs(['--stock', '3', '--skus', '1'])
  if (!parsed.ok) throw new Error('bad arguments in the test')
  return {
    options: parsed.options,
    activityId: 1,
    crowd: {
      asks: 50,
      asksPerSecond: 10,
      answers: { granted: 4, queued: 0, soldOut: 46, refused: 0, rateLimited: 0, blocked: 0, overloaded: 0, error: 0 },
      latencyMs: { p50: 1, p95: 2, p99: 3, max: 4 },
      orders: [1, 2, 3, 4].map(order),
      paid: 3,
      cancelled: 0,
      tokensLeft: 0,
      gaveUp: 0,
      bots: 0,
      normalServedRatio: 1,
      abusiveAdmittedRatio: 0,
      abusiveAdmittedByProfile: {},
      wronglyBlocked: 0,
      profiles: {},
      slowSenders: { held: 0, cutOff: 0, skipped: 0 },
      complaints: [],
      complaintCount: 0,
    },
    invariants: { ok: true, skus: [{ ...sku, ...skuChange }] },
    granted: 4,
    lostOrders: [],
    probe: { openLateMs: 1, soldOutAfterMs: 2, soldOutSpreadMs: 3 },
    machine: 'test',
    ...change,
  }
}

describe('report of a sale', () => {
  test('is ok when the four counts agree and everything is settled', () => {
    expect(composeReport(facts())).toMatchObject({
      ok: true,
      violations: [],
      orders: 4,
      paid: 3,
      carted: 4,
      oversold: 0,
    })
  })

  test.each([
    ['a unit oversold', facts({}, { sold: 4 })],
    ['an order that PostgreSQL does not have', facts({}, { orders: 3, paid: 2 })],
    ['an order that is in no final state', facts({}, { paid: 2 })],
    ['a hold that never ended', facts({}, { held: 1 })],
    ['a grant that Middle did not count', facts({ granted: 3 })],
    ['a promised order that is lost', facts({ lostOrders: ['o9'] })],
    ['an invariant that the platform reports', facts({}, { violations: ['free is negative'] as never[] })],
  ])('is not ok with %s', (_what, wrong) => {
    const report = composeReport(wrong)

    expect(report.ok).toBe(false)
    expect(report.violations.length).toBeGreaterThan(0)
  })

  test('tells what became of each profile, and how much of the abuse was admitted', () => {
    const { crowd } = facts()
    const script = { asks: 40, admitted: 2 } as (typeof crowd)['profiles']['script'] & object
    const report = composeReport(
      facts({
        crowd: { ...crowd, abusiveAdmittedByProfile: { script: 0.05 }, profiles: { script }, wronglyBlocked: 1 },
      }),
    )

    expect(report).toMatchObject({
      ...{ abusiveAdmittedRatio: 0, abusiveAdmittedByProfile: { script: 0.05 }, wronglyBlocked: 1 },
      profiles: { script: { asks: 40, admitted: 2 } },
    })
  })
})
