import { type LedgerReply, OUTCOME } from '@bigtap/protocol'
import { expect, test } from 'vitest'
import { admit, answerOf } from './cart.ts'

const claims = { tokenId: 'a'.repeat(32), uid: 7, activityId: 1, skuId: 2, quantity: 1, expiresAt: 1_000 }
const reply: LedgerReply = {
  callId: 1,
  outcome: OUTCOME.ok,
  orderId: `o${claims.tokenId}`,
  priceCents: 4_900,
  payBy: 901_000,
  state: 'held',
  quantity: 1,
  skuId: 2,
  activityId: 1,
  uid: 7,
}

const isShut = () => false

test('a token of another buyer is refused before the ledger is asked', () => {
  expect(admit({ ok: true, claims }, { uid: 8, isShut })).toEqual({ kind: 'refused', code: 'bad_token' })
})

test('a forged or broken token is refused', () => {
  expect(admit({ ok: false, reason: 'bad-signature' }, { uid: 7, isShut })).toEqual({
    kind: 'refused',
    code: 'bad_token',
  })
  expect(admit({ ok: false, reason: 'malformed' }, { uid: 7, isShut })).toEqual({ kind: 'refused', code: 'bad_token' })
})

test('a token that has run out is still asked about, for it may have been used in time', () => {
  expect(admit({ ok: false, reason: 'expired', claims }, { uid: 7, isShut })).toEqual({ kind: 'ask', claims })
})

test('a repeat is answered 200 with the body of the first time, whatever became of the order', () => {
  const first = answerOf(reply)
  const again = answerOf({ ...reply, outcome: OUTCOME.repeated, state: 'paid' })

  expect(first).toMatchObject({ kind: 'accepted', status: 201 })
  expect(again).toMatchObject({ kind: 'accepted', status: 200 })
  expect('body' in again && again.body).toEqual('body' in first && first.body)
})

test('every outcome of the ledger has an answer, and what is unknown is never a refusal', () => {
  const codes = Object.entries(OUTCOME).map(([name, outcome]) => {
    const answer = answerOf({ ...reply, outcome })
    return [name, answer.kind === 'problem' ? answer.code : answer.status]
  })

  expect(Object.fromEntries(codes)).toEqual({
    ok: 201,
    repeated: 200,
    soldOut: 'sold_out',
    ruleRefused: 'rule_refused',
    tokenExpired: 'token_expired',
    notFound: 'bad_token',
    wrongState: 'unavailable',
    unavailable: 'unavailable',
    badRequest: 'bad_token',
    closed: 'unavailable',
  })
})

test('while the cart of an activity is shut its tokens are kept for later', () => {
  const shut = { uid: 7, isShut: (activityId: number) => activityId === claims.activityId }
  expect(admit({ ok: true, claims }, shut)).toEqual({ kind: 'refused', code: 'unavailable' })
})
