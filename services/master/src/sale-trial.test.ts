import {
  type ActivityDoc,
  DEFAULT_POLICY,
  DEFAULT_WAITING,
  NO_CHALLENGE,
  NO_RESERVATION,
  type SkuDoc,
} from '@bigtap/domain'
import { FakeClock } from '@bigtap/testkit'
import { expect, test } from 'vitest'
import { Book } from './book.ts'
import type { GateResult } from './config-gate.ts'
import type { GateDocument } from './core/gate.ts'
import { SaleTrial, TRIAL_DOCUMENTS_MAX } from './sale-trial.ts'

const clock = new FakeClock()
const opensAt = clock.now() + 60_000
const stored = { version: 1, createdAt: 0, updatedAt: 0, revision: 1 }
const fields = {
  title: 'Launch',
  opensAt,
  closesAt: opensAt + 60_000,
  rule: 'unlimited',
  admission: 'direct',
  waiting: DEFAULT_WAITING,
  challenge: NO_CHALLENGE,
} as const
const skuOf = (id: number): SkuDoc => ({
  ...{ id, activityId: 7, title: 'Phone', priceCents: 1, currency: 'EUR', imageUrl: '', stock: 5, limitPerBuyer: 1 },
  ...{ policy: DEFAULT_POLICY, paused: false },
})
const actor = { name: 'ann', role: 'operator' } as const

function setUp(skus: number, result: GateResult = { isPassed: true }) {
  const tried: GateDocument[][] = []
  const noted: string[] = []
  const book = new Book()
  const rows = Array.from({ length: skus }, (_, index) => ({ ...skuOf(index + 1), policyPlan: [], ...stored }))
  const row = {
    id: 7,
    ...fields,
    state: 'scheduled',
    reservation: NO_RESERVATION,
    skuIds: [],
    accessLimits: [],
    ...stored,
  } as const
  const sale = book.put(row, rows, clock.now())
  const gate = {
    try: async (documents: readonly GateDocument[]) => {
      tried.push([...documents])
      return result
    },
  }
  const record = {
    note: ({ action }: { action: string }) => void noted.push(action),
    flushAudit: async () => undefined,
  }
  const trial = new SaleTrial({ gate, record, clock, publisher: { published: () => undefined } })
  return { trial, sale, tried, noted }
}

test('of a sale of many products the activity and some of the products are tried', async () => {
  const { trial, sale, tried } = setUp(400)
  await trial.run(actor, 'activity:7', [{ sale }])
  expect(tried[0]).toHaveLength(TRIAL_DOCUMENTS_MAX)
  expect(tried[0]?.[0]?.key).toBe('activity:7')
})

test('what failed is told to the operator and to the audit', async () => {
  const { trial, sale, noted } = setUp(1, { isPassed: false, reason: 'limiter-1 is gone', isSlow: false })
  const failing = trial.run(actor, 'activity:7', [{ sale }])
  await expect(failing).rejects.toMatchObject({ code: 'gate_failed', data: { detail: 'limiter-1 is gone' } })
  expect(noted).toEqual(['gate.failed'])
})

test('a forced change is not tried, and still checked', async () => {
  const { trial, sale, tried } = setUp(1)
  await trial.run(actor, 'activity:7', [{ sale }], { isForced: true })
  expect(tried).toEqual([])
  const far: ActivityDoc = { ...sale.activity, opensAt: opensAt + 40_000_000_000, closesAt: opensAt + 41_000_000_000 }
  await expect(trial.run(actor, 'activity:7', [{ sale, activity: far }], { isForced: true })).rejects.toMatchObject({
    code: 'bad_request',
  })
})

test('what was taken once is no reason to refuse another change', () => {
  const { trial, sale } = setUp(1)
  const slow = { ...skuOf(1), stock: 1_000_000, policy: { ...DEFAULT_POLICY, pacePerSecond: 1 } }
  expect(() => trial.check({ sale, skus: [slow] })).toThrow('bad_request')
  sale.skus.set(1, slow)
  expect(() => trial.check({ sale, skus: [{ ...slow, paused: true }] })).not.toThrow()
})
