import {
  type ActivityDoc,
  type ActivityState,
  activityKey,
  DEFAULT_POLICY,
  DEFAULT_WAITING,
  NO_CHALLENGE,
  NO_RESERVATION,
  statusKey,
} from '@bigtap/domain'
import { expect, test } from 'vitest'
import { Book } from './book.ts'
import { recallCatalog } from './catalog-recall.ts'

const stored = { version: 1, createdAt: 0, updatedAt: 0, revision: 10 }
const fields = {
  title: 'Launch',
  opensAt: 1_000,
  closesAt: 9_000,
  rule: 'unlimited',
  admission: 'direct',
  waiting: DEFAULT_WAITING,
  challenge: NO_CHALLENGE,
} as const
const more = { reservation: NO_RESERVATION, skuIds: [3], accessLimits: [] }
const price = { priceCents: 1, currency: 'EUR', imageUrl: '', stock: 5, limitPerBuyer: 1 }
const sku = { id: 3, activityId: 7, title: 'Phone', ...price, policy: DEFAULT_POLICY, policyPlan: [], paused: false }

/** The state and stage of a sale that the record has in `state`, after the catalog was looked at. */
function recalled(state: ActivityState, published: Partial<ActivityDoc>, revision = 11): string {
  const book = new Book()
  const sale = book.put({ id: 7, ...fields, ...more, state, ...stored }, [{ ...sku, ...stored }], 0)
  const body = { id: 7, ...fields, ...more, state: 'open', stage: 'middle', ...published }
  const status = { activityId: 7, skuId: 3, soldOut: true, exhausted: false, free: 0, held: 0, sold: 5, at: 1 }
  recallCatalog(book, [
    { key: activityKey(7), revision, body, hash: 0, bytes: 0 },
    { key: statusKey(7, 3), revision, body: status, hash: 0, bytes: 0 },
  ])
  expect(sale.statuses.get(3)?.soldOut).toBe(true)
  return `${sale.activity.state}/${sale.activity.stage}`
}

test('what a keeper published and could not store is taken from the catalog', () => {
  expect(recalled('preloading', { state: 'preloading', stage: 'cart' })).toBe('preloading/cart')
  expect(recalled('preloading', { state: 'armed' })).toBe('armed/middle')
  expect(recalled('armed', { state: 'open' })).toBe('open/middle')
  expect(recalled('open', { state: 'closed', stage: 'counter' })).toBe('closed/counter')
})

test('what an operator did was stored first, and stands', () => {
  expect(recalled('paused', { state: 'open' })).toBe('paused/middle')
  expect(recalled('open', { state: 'paused' })).toBe('open/middle')
  expect(recalled('closed', { state: 'open' })).toBe('closed/shut')
  expect(recalled('draft', { state: 'closed' })).toBe('draft/shut')
})

test('what was published before the last thing that was stored, or before a reset, says nothing', () => {
  expect(recalled('scheduled', { state: 'closed', stage: 'shut' }, 10)).toBe('scheduled/shut')
  expect(recalled('scheduled', { state: 'closed', opensAt: 5 })).toBe('scheduled/shut')
})

test('a catalog that holds no such document says nothing', () => {
  const book = new Book()
  const sale = book.put({ id: 7, ...fields, ...more, state: 'armed', ...stored }, [], 0)
  recallCatalog(book, [{ key: activityKey(7), revision: 99, body: null, hash: 0, bytes: 0 }])
  expect(sale.activity.state).toBe('armed')
})
