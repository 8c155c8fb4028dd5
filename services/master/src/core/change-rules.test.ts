import {
  type ActivityDoc,
  DEFAULT_POLICY,
  DEFAULT_WAITING,
  NO_CHALLENGE,
  NO_RESERVATION,
  type SkuDoc,
} from '@bigtap/domain'
import { expect, test } from 'vitest'
import {
  activityChangeObstacle,
  readActivityPatch,
  readNewActivity,
  readNewSku,
  readSkuPatch,
  skuChangeObstacle,
} from './change-rules.ts'

const activity: ActivityDoc = {
  ...{
    id: 3,
    title: 'Launch',
    state: 'open',
    opensAt: 1,
    closesAt: 2,
    rule: 'unlimited',
    admission: 'direct',
    waiting: DEFAULT_WAITING,
    challenge: NO_CHALLENGE,
  },
  ...{ reservation: NO_RESERVATION, skuIds: [4], accessLimits: [], stage: 'shut' },
}
const sku: SkuDoc = {
  ...{ id: 4, activityId: 3, title: 'Phone', priceCents: 1, currency: 'EUR', imageUrl: '', stock: 5 },
  ...{ limitPerBuyer: 1, policy: DEFAULT_POLICY, paused: false },
}

test('an operator cannot choose id, state or activity', () => {
  const made = readNewActivity({ title: 'a', opensAt: 1, closesAt: 2, rule: 'unlimited', id: 9, state: 'open' })
  expect(made).toMatchObject({ ok: true, value: { id: 1, state: 'draft', skuIds: [] } })
  expect(readNewSku(3, { ...sku, activityId: 99 })).toMatchObject({ ok: true, value: { activityId: 3 } })
  expect(readActivityPatch(activity, { state: 'closed' })).toMatchObject({ value: { state: 'open' } })
})

test('a policy patch keeps what it does not name', () => {
  expect(readSkuPatch(sku, { policy: { taperAt: 0.5 } })).toMatchObject({
    value: { policy: { ...DEFAULT_POLICY, taperAt: 0.5 } },
  })
  expect(readSkuPatch(sku, { policy: 'none' }).ok).toBe(false)
})

test('a patch of the challenges keeps what it does not name', () => {
  expect(readActivityPatch(activity, { challenge: { mode: 'all' } })).toMatchObject({
    value: { challenge: { ...NO_CHALLENGE, mode: 'all' } },
  })
  expect(readActivityPatch(activity, { challenge: 'none' }).ok).toBe(false)
  expect(readActivityPatch(activity, { challenge: { mode: 'some' } }).ok).toBe(false)
})

test('while a sale runs its opening, rule, price and stock stay, and its pace may change', () => {
  expect(activityChangeObstacle(activity, { ...activity, closesAt: 9 })).toBeUndefined()
  const challenge = { ...NO_CHALLENGE, mode: 'all' as const }
  expect(activityChangeObstacle(activity, { ...activity, challenge })).toBeUndefined()
  expect(activityChangeObstacle(activity, { ...activity, opensAt: 0 })).toContain('opensAt')
  expect(skuChangeObstacle('open', sku, { ...sku, policy: { ...DEFAULT_POLICY, pacePerSecond: 5 } })).toBeUndefined()
  expect(skuChangeObstacle('open', sku, { ...sku, policy: { ...DEFAULT_POLICY, overbook: 2 } })).toContain('overbook')
  expect(skuChangeObstacle('open', sku, { ...sku, priceCents: 2 })).toContain('priceCents')
  expect(skuChangeObstacle('draft', sku, { ...sku, stock: 9 })).toBeUndefined()
})

test('nothing of a closed sale changes', () => {
  expect(
    activityChangeObstacle({ ...activity, state: 'closed' }, { ...activity, state: 'closed', title: 'b' }),
  ).toContain('title')
  expect(skuChangeObstacle('closed', sku, { ...sku, paused: true })).toContain('paused')
})
