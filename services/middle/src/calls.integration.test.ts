import { VERDICT } from '@bigtap/domain'
import { nullLogger } from '@bigtap/kernel'
import { waitFor } from '@bigtap/testkit'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createCallHandler } from './calls.ts'
import { RECORD } from './core/buyer-records.ts'
import { type SaleRig, startRig } from './test-support/sale-rig.ts'

let rig: SaleRig

beforeAll(async () => {
  rig = await startRig()
})

afterEach(() => rig.stopNodes())

afterAll(() => rig.stop())

test('cleared records are read again: a buyer gets the same token, and not a second one', async () => {
  const one = await rig.start('a', await rig.sale({ stock: 10 }))
  const tokens = [(await one.buy(7)).tokenId, (await one.buy(8)).tokenId]
  const call = createCallHandler(() => one.node, nullLogger)

  call('clear-records', { activityId: rig.activity, uid: 7 })
  expect((await one.buy(7)).tokenId).toBe(tokens[0])
  call('clear-records', { activityId: rig.activity })
  expect([(await one.buy(7)).tokenId, (await one.buy(8)).tokenId]).toEqual(tokens)

  expect(await rig.figures()).toMatchObject({ outstanding: 2 })
  expect(one.node.grantedTotal).toBe(2)
})

test('a record that no log knows is gone, those of other buyers and of other activities stay', async () => {
  const one = await rig.start('a', await rig.sale({ stock: 10 }))
  await one.buy(7)
  const { buyers } = one.node.decider
  const ghost = buyers.add(9, buyers.sku[buyers.first(7)] as number)
  buyers.state[ghost] = RECORD.bought
  const clear = (activityId: number, uid: number) =>
    createCallHandler(() => one.node, nullLogger)('clear-records', { activityId, uid })

  clear(rig.activity, 8)
  clear(rig.activity + 1, 9)
  expect(buyers.state[ghost]).toBe(RECORD.bought)
  clear(rig.activity, 9)

  await waitFor('it is read again', () => one.node.isServing)
  expect([buyers.state[ghost], buyers.state[buyers.first(7)]]).toEqual([RECORD.free, RECORD.outstanding])
})

test('while records are read again nobody is granted anything in their slots', async () => {
  const one = await rig.start('a', await rig.sale({ stock: 10 }))
  await one.buy(7)
  expect(one.node.clearRecords(rig.activity, 7)).toBe(1)
  expect((await one.ask([7]))[0]?.code).toBe(VERDICT.moving)
  await waitFor('it goes on', () => one.node.isServing)
  expect((await one.buy(7)).code).toBe(VERDICT.granted)
})

test('a call of another name is passed over, one with bad arguments is refused', async () => {
  const one = await rig.start('a', await rig.sale({ stock: 10 }))
  const call = createCallHandler(() => one.node, nullLogger)
  call('something else', null)
  call('clear-records', { activityId: 999 })
  for (const bad of [null, {}, { activityId: -1 }, { activityId: 1, uid: 'x' }])
    expect(() => call('clear-records', bad)).toThrow('call clear-records')
})
