import { statusKey, VERDICT } from '@bigtap/domain'
import { waitFor } from '@bigtap/testkit'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { apply, type SaleRig, startRig, withVerb } from './test-support/sale-rig.ts'

let rig: SaleRig

beforeAll(async () => {
  rig = await startRig()
})

afterEach(() => rig.stopNodes())

afterAll(() => rig.stop())

test('units that come back to a sold-out SKU are looked for as soon as the limiters know of them', async () => {
  const catalog = await rig.sale({ stock: 1 })
  let [leases, underWay] = [0, 0]
  const one = await rig.start('a', catalog, (log) =>
    withVerb(log, 'lease', async (who, wishes) => {
      leases++
      underWay++
      return log.lease(who, wishes).finally(() => underWay--)
    }),
  )
  const { tokenId = '' } = await one.buy(7)
  const hold = { tokenId, uid: 7, skuId: 1, quantity: 1, expiresAt: Date.now() + 60_000 }
  await rig.ledger.reserve(rig.activity, [hold])
  await rig.ledger.confirm(rig.activity, [`o${tokenId}`])
  await waitFor('sold out', () => one.node.view()[0]?.state === 'soldOut')
  await rig.ledger.restock(rig.activity, 1, { requestId: 'more', op: 'add', units: 2 })
  const back = {
    activityId: rig.activity,
    skuId: 1,
    soldOut: false,
    exhausted: false,
    free: 2,
    held: 0,
    sold: 1,
    at: 1,
  }
  apply(catalog, statusKey(rig.activity, 1), 2, back)

  await waitFor('no lease is under way', () => underWay === 0)
  const before = leases
  const isStillOut = one.node.view()[0]?.state === 'soldOut' // else a heartbeat was quicker
  one.node.applyCatalog()

  expect(leases - before).toBe(isStillOut ? 1 : 0)
  await waitFor('it is on sale again', () => one.node.view()[0]?.state !== 'soldOut')
  expect((await one.buy(8)).code).toBe(VERDICT.granted)
})
