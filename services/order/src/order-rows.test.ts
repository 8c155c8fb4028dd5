import type { OrderEvent } from '@bigtap/protocol'
import { expect, test } from 'vitest'
import { REFUND_VERSION, refundRowOf, rowsOf } from './order-rows.ts'

const held: OrderEvent = {
  orderId: `o${'a'.repeat(32)}`,
  tokenId: 'a'.repeat(32),
  activityId: 1,
  skuId: 2,
  uid: 3,
  quantity: 1,
  priceCents: 4_900,
  currency: 'EUR',
  type: 'held',
  version: 1,
  seq: 10,
  at: 1_000,
  payBy: 901_000,
}
const paid: OrderEvent = { ...held, type: 'paid', version: 2, seq: 12, at: 2_000 }

test('events of one order in one batch become its newest row, with the time of the first', () => {
  for (const events of [
    [held, paid],
    [paid, held],
    [held, paid, held],
  ])
    expect(rowsOf(events)).toMatchObject([{ state: 'paid', version: 2, createdAt: 1_000, updatedAt: 2_000 }])
})

test('a refund stands above every event that the log may still bring', () => {
  const [row] = rowsOf([held])

  expect(row && refundRowOf(row, 5_000)).toMatchObject({ state: 'refund_pending', version: REFUND_VERSION })
  expect(REFUND_VERSION).toBeGreaterThan(paid.version)
})
