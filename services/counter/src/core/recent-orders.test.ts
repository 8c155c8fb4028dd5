import type { LedgerOrder } from '@bigtap/store'
import { expect, test } from 'vitest'
import { RecentOrders } from './recent-orders.ts'

const order = (seq: number, change: Partial<LedgerOrder> = {}): LedgerOrder => ({
  ...{ orderId: `o${seq}`, state: 'held', skuId: 1, uid: seq, quantity: 1, priceCents: 1, version: 1, seq },
  ...{ createdAt: 1, payBy: 2, updatedAt: 1, ...change },
})

test('of an order only the newest version is remembered, in whatever order they come', () => {
  const recent = new RecentOrders(10)
  recent.add(1, order(2, { state: 'paid', version: 2 }))
  recent.add(1, order(2))
  recent.add(1, order(1))

  expect(recent.of(1).map(({ orderId, state }) => [orderId, state])).toEqual([
    ['o1', 'held'],
    ['o2', 'paid'],
  ])
  expect(recent.size).toBe(2)
})

test('beyond the limit the order that changed longest ago is forgotten, but not the highest number', () => {
  const recent = new RecentOrders(2)
  recent.add(1, order(1))
  recent.add(1, order(2))
  recent.add(1, order(1, { version: 2 }))
  recent.add(1, order(3))

  expect(recent.of(1).map(({ seq }) => seq)).toEqual([1, 3])
  expect([recent.size, recent.highestSeq(1), recent.highestSeq(2)]).toEqual([2, 3, 0])
})

test('an activity that is over takes no room', () => {
  const recent = new RecentOrders(10)
  recent.add(1, order(1))
  recent.add(2, order(1))
  recent.drop(1)

  expect([recent.size, recent.of(1), recent.of(2).length]).toEqual([1, [], 1])
})
