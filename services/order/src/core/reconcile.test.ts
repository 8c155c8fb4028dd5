import { expect, test } from 'vitest'
import { differencesOf } from './reconcile.ts'

const ledger = { held: 2, sold: 3, reservedTotal: 6 }
const stored = { held: 2, paid: 3, orders: 6 }

test('two sides that agree differ in nothing', () => {
  expect(differencesOf([{ skuId: 1, ledger, stored }])).toEqual([])
})

test('orders that are not stored, that no ledger has, and units in another state are told apart', () => {
  const kinds = differencesOf([
    { skuId: 1, ledger, stored: { ...stored, orders: 5 } },
    { skuId: 2, ledger, stored: { ...stored, orders: 7 } },
    { skuId: 3, ledger, stored: { ...stored, held: 3, paid: 2 } },
  ]).map(({ skuId, kind }) => `${skuId} ${kind}`)

  expect(kinds).toEqual(['1 stored-behind', '2 stored-ahead', '3 units-differ'])
})
