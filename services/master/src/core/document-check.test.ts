import {
  type ActivityDoc,
  DEFAULT_POLICY,
  DEFAULT_WAITING,
  NO_CHALLENGE,
  NO_RESERVATION,
  type SkuDoc,
} from '@bigtap/domain'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkDocument, findAbsurd } from './document-check.ts'

const NOW = 1_800_000_000_000
const HOUR = 3_600_000
const activity: ActivityDoc = {
  ...{ id: 1, title: 'Launch', state: 'scheduled', stage: 'shut', opensAt: NOW + HOUR, closesAt: NOW + 2 * HOUR },
  ...{
    rule: 'unlimited',
    admission: 'direct',
    waiting: DEFAULT_WAITING,
    challenge: NO_CHALLENGE,
    reservation: NO_RESERVATION,
    skuIds: [1],
    accessLimits: [],
  },
}
const sku: SkuDoc = {
  ...{ id: 1, activityId: 1, title: 'Black', priceCents: 1, currency: 'EUR', imageUrl: '', stock: 1_000_000 },
  ...{ limitPerBuyer: 1, policy: DEFAULT_POLICY, paused: false },
}

test('a good document is taken, and so is its removal', () => {
  expect(checkDocument('activity:1', activity)).toEqual([])
  expect(checkDocument('sku:1:1', sku)).toEqual([])
  expect(checkDocument('activity:1', null)).toEqual([])
})

test.each([
  ['null in a field', 'activity:1', { ...activity, opensAt: null }, 'opensAt'],
  ['a missing field', 'sku:1:1', { ...sku, stock: undefined }, 'stock'],
  ['too many bytes', 'activity:1', { ...activity, note: 'ä'.repeat(40_000) }, 'exceeds 65536'],
  ['the ids of another', 'sku:1:2', sku, 'stands under'],
  ['an endless pace', 'sku:1:1', { ...sku, policy: { ...DEFAULT_POLICY, pacePerSecond: 1e300 } }, 'pacePerSecond'],
  ['no object', 'activity:1', 'open', 'not an object'],
])('%s is found', (_what, key, body, word) => {
  expect(checkDocument(key, body).join('\n')).toContain(word)
})

test('whatever stands in a document, the check answers', () => {
  const key = fc.constantFrom('activity:1', 'sku:1:1', 'status:1:1', 'slots', 'pressure', 'challenge:1')
  fc.assert(
    fc.property(key, fc.jsonValue(), (one, body) => {
      expect(Array.isArray(checkDocument(one, body))).toBe(true)
    }),
  )
})

test('what no sale can mean is found: a year too far, a year too long, a pace that sells nothing', () => {
  const year = 367 * 24 * HOUR
  expect(findAbsurd(activity, [sku], NOW)).toEqual([])
  expect(findAbsurd({ ...activity, opensAt: NOW + year, closesAt: NOW + year + HOUR }, [], NOW)).toHaveLength(1)
  expect(findAbsurd({ ...activity, closesAt: NOW + 2 * HOUR + year }, [], NOW)).toHaveLength(1)
  const paced = (pacePerSecond: number) => ({ ...sku, policy: { ...DEFAULT_POLICY, pacePerSecond } })
  expect(findAbsurd(activity, [paced(2.7)], NOW)).toHaveLength(1) // 9,720 of a million in the hour
  expect(findAbsurd(activity, [paced(2.8)], NOW)).toEqual([])
  expect(findAbsurd({ ...activity, state: 'open' }, [paced(0.01)], NOW)).toEqual([]) // the brake of a running sale
})
