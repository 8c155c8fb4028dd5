import { VERB } from '@bigtap/protocol'
import { expect, test } from 'vitest'
import { faultOf, groupKey } from './gather.ts'

const reserve = {
  ...{ verb: VERB.reserve, callId: 1, tokenId: 'a'.repeat(32), orderId: '', uid: 7, activityId: 1, skuId: 2 },
  ...{ quantity: 1, expiresAt: 1, requestId: '' },
}
const confirm = { ...reserve, verb: VERB.confirm, tokenId: '', orderId: `o${'a'.repeat(32)}` }

test('calls that a script can do have no fault', () => {
  expect([faultOf(reserve), faultOf(confirm), faultOf({ ...confirm, verb: VERB.cancel })]).toEqual(
    Array(3).fill(undefined),
  )
})

test('calls that no script may see are named: ids of another shape, no buyer, no product, odd quantities', () => {
  const odd = [
    { ...reserve, tokenId: 'A'.repeat(32) },
    { ...reserve, tokenId: 'a|b' },
    { ...reserve, uid: 0 },
    { ...reserve, skuId: 0 },
    { ...reserve, activityId: 0 },
    { ...reserve, quantity: 0 },
    { ...reserve, quantity: 1_001 },
    { ...confirm, orderId: 'o1' },
    { ...confirm, orderId: `o${'a'.repeat(32)},o${'b'.repeat(32)}` },
  ]

  for (const call of odd) expect(faultOf(call), JSON.stringify(call)).toBeTypeOf('string')
})

test('only calls of one activity and one verb share a batch', () => {
  const keys = [reserve, confirm, { ...reserve, activityId: 2 }, { ...confirm, activityId: 2 }].map(groupKey)

  expect(new Set(keys).size).toBe(4)
  expect(groupKey({ ...reserve, uid: 99, skuId: 3 })).toBe(groupKey(reserve))
})
