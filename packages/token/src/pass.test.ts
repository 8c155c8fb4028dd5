import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  createKeyRing,
  issuePass,
  issueTicket,
  issueVoucher,
  PASS_CHARS,
  VOUCHER_CHARS,
  verifyPass,
  verifyVoucher,
} from './index.ts'

const ring = createKeyRing({ current: 'a secret of the platform' })
const NOW = 1_800_000_000_000
const ID = '00112233445566778899aabbccddeeff'
const pass = issuePass(ring, { uid: 5, activityId: 7, expiresAt: NOW + 1_000 })
const voucherClaims = { id: ID, uid: 5, activityId: 7, notBefore: NOW + 100, expiresAt: NOW + 1_000 }
const voucher = issueVoucher(ring, voucherClaims)
const mine = { uid: 5, activityId: 7, nowMs: NOW }

test('a pass is good for its buyer and activity until it runs out', () => {
  expect(pass).toHaveLength(PASS_CHARS)
  expect(verifyPass(ring, pass, mine)).toBe('ok')
  expect(verifyPass(ring, pass, { ...mine, uid: 6 })).toBe('foreign')
  expect(verifyPass(ring, pass, { ...mine, activityId: 8 })).toBe('foreign')
  expect(verifyPass(ring, pass, { ...mine, nowMs: NOW + 1_000 })).toBe('expired')
})

test('a voucher is good for its buyer and activity after the wait, and not for ever', () => {
  expect(voucher).toHaveLength(VOUCHER_CHARS)
  expect(verifyVoucher(ring, voucher, mine)).toEqual({ outcome: 'early', claims: voucherClaims })
  expect(verifyVoucher(ring, voucher, { ...mine, nowMs: NOW + 100 })).toEqual({ outcome: 'ok', claims: voucherClaims })
  expect(verifyVoucher(ring, voucher, { ...mine, nowMs: NOW + 1_000 })).toEqual({ outcome: 'expired' })
  expect(verifyVoucher(ring, voucher, { ...mine, uid: 6 })).toEqual({ outcome: 'foreign' })
  expect(verifyVoucher(ring, voucher, { ...mine, activityId: 8 })).toEqual({ outcome: 'foreign' })
})

test('no changed character of a pass or a voucher is accepted', () => {
  for (let at = 0; at < voucher.length; at++) {
    const other = (text: string) => `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`
    expect(['malformed', 'bad-signature']).toContain(verifyVoucher(ring, other(voucher), mine).outcome)
    if (at < pass.length) expect(['malformed', 'bad-signature']).toContain(verifyPass(ring, other(pass), mine))
  }
})

test('neither is taken for the other, nor for a ticket, nor under another secret', () => {
  const ticket = issueTicket(ring, { uid: 5, activityId: 7, skuId: 1, notBefore: NOW, expiresAt: NOW + 1_000 })
  const stranger = createKeyRing({ current: 'a secret of somebody else' })

  expect(verifyPass(ring, voucher.slice(5), mine)).toBe('malformed')
  expect(verifyPass(ring, ticket.slice(ticket.lastIndexOf('.') + 1), mine)).toBe('malformed')
  expect(verifyVoucher(ring, pass, mine)).toEqual({ outcome: 'malformed' })
  expect(verifyVoucher(ring, voucher.slice(5), mine)).toEqual({ outcome: 'malformed' })
  expect(verifyPass(stranger, pass, mine)).toBe('bad-signature')
  expect(verifyVoucher(stranger, voucher, mine)).toEqual({ outcome: 'bad-signature' })
})

test('whatever is sent as a pass or a voucher, nothing is thrown', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200, unit: 'binary' }), (text) => {
      expect(verifyPass(ring, text, mine)).not.toBe('ok')
      expect(verifyVoucher(ring, `wait.${text}`, mine).outcome).not.toBe('ok')
    }),
  )
})

test('any claims come back as they were signed', () => {
  const uid = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
  const activityId = fc.integer({ min: 1, max: 0xffff_ffff })
  fc.assert(
    fc.property(uid, activityId, (uid, activityId) => {
      const who = { uid, activityId, nowMs: NOW }
      const claims = { ...voucherClaims, uid, activityId }
      expect(verifyPass(ring, issuePass(ring, claims), who)).toBe('ok')
      expect(verifyVoucher(ring, issueVoucher(ring, claims), who)).toEqual({ outcome: 'early', claims })
    }),
  )
})

test('a voucher of a bad id is refused when it is issued', () => {
  expect(() => issueVoucher(ring, { ...voucherClaims, id: 'x' })).toThrow(RangeError)
})

test('the bytes of docs/PROTOCOL.md', () => {
  const vectors = JSON.parse(readFileSync(new URL('../../../proto/vectors/pass.json', import.meta.url), 'utf8'))

  expect(vectors.length).toBeGreaterThanOrEqual(2)
  for (const { secret, pass, voucher, ...claims } of vectors) {
    const ring = createKeyRing({ current: secret })
    expect(issuePass(ring, claims)).toBe(pass)
    expect(issueVoucher(ring, claims)).toBe(voucher)
  }
})
