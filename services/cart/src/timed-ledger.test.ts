import { FakeClock } from '@bigtap/testkit'
import { expect, test } from 'vitest'
import { TimedLedger } from './timed-ledger.ts'

const claims = { tokenId: 'a'.repeat(32), uid: 1, activityId: 1, skuId: 1, quantity: 1, expiresAt: 1 }
const reply = { callId: 1, outcome: 1, orderId: '', priceCents: 0, payBy: 0 } as never

/** A ledger whose calls take so long; below 0 they end without an answer. */
function rig(...takes: number[]) {
  const clock = new FakeClock()
  const ledger = {
    reserve: async () => {
      const ms = takes.shift() ?? 0
      if (ms < 0) throw new Error('no answer')
      clock.advance(ms)
      return reply
    },
  }
  return new TimedLedger({ deadlineMs: 100 }, { ledger, clock })
}

test('the cart knows what the calls of the counter took on average', async () => {
  const timed = rig(20, 60)
  await timed.reserve(claims)
  await timed.reserve(claims)

  expect(timed.takeCallMs()).toBe(40)
  expect(timed.takeCallMs()).toBe(0)
})

test('a call without an answer counts as twice the deadline, and the buyer still hears of it', async () => {
  const timed = rig(-1)

  await expect(timed.reserve(claims)).rejects.toThrow('no answer')
  expect(timed.takeCallMs()).toBe(200)
})
