import { OUTCOME } from '@bigtap/protocol'
import { describe, expect, test } from 'vitest'
import { parseCallback, planOf, resultOf } from './callback.ts'

const callback = { eventId: 'e1', paymentId: 'p1', orderId: `o${'a'.repeat(32)}`, type: 'paid', amountCents: 4_900 }

test('a callback is read whole', () => {
  expect(parseCallback(callback)).toEqual({ ok: true, value: callback })
})

test.each([
  ['no object', 'paid'],
  ['an order id that is none', { ...callback, orderId: 'o1' }],
  ['a type that is not known', { ...callback, type: 'refunded' }],
  ['a negative amount', { ...callback, amountCents: -1 }],
  ['an amount beyond 2^53', { ...callback, amountCents: Number('9007199254740993') }],
  ['half a cent', { ...callback, amountCents: 0.5 }],
  ['an event id that is too long', { ...callback, eventId: 'e'.repeat(200) }],
])('%s is refused', (_name, value) => {
  expect(parseCallback(value).ok).toBe(false)
})

test('only the right amount is taken', () => {
  expect(planOf(callback, { amountCents: 4_900 })).toBe('confirm')
  expect(planOf(callback, { amountCents: 4_901 })).toBe('give-back')
  expect(planOf({ ...callback, type: 'failed' }, { amountCents: 4_901 })).toBe('note-failure')
})

describe('what the ledger says decides', () => {
  test.each([
    ['confirm', OUTCOME.ok, 'paid', 'paid'],
    ['confirm', OUTCOME.repeated, 'paid', 'paid'],
    ['confirm', OUTCOME.wrongState, 'expired', 'refund_pending'],
    ['confirm', OUTCOME.wrongState, 'cancelled', 'refund_pending'],
    ['confirm', OUTCOME.notFound, 'held', 'refund_pending'],
    ['confirm', OUTCOME.notFound, 'paid', 'paid'],
    ['give-back', OUTCOME.ok, 'cancelled', 'refund_pending'],
    ['give-back', OUTCOME.wrongState, 'expired', 'refund_pending'],
    ['give-back', OUTCOME.wrongState, 'paid', 'kept'],
  ] as const)('%s, answered %i on an order that is %s, means %s', (plan, outcome, state, result) => {
    expect(resultOf(plan, outcome, state)).toBe(result)
  })

  test('an answer that is not known yet is never a refusal', () => {
    expect(resultOf('confirm', OUTCOME.unavailable, 'held')).toBeUndefined()
    expect(resultOf('confirm', OUTCOME.closed, 'held')).toBeUndefined()
    expect(resultOf('give-back', OUTCOME.unavailable, 'held')).toBeUndefined()
  })
})
