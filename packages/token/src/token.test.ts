import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  createKeyRing,
  issueAdmission,
  issueSession,
  issueTicket,
  readTicketScope,
  TICKET_CHARS_MAX,
  verifyAdmission,
  verifySession,
  verifyTicket,
} from './index.ts'

const OLD = 'an old secret of the platform'
const NEW = 'a new secret of the platform'
const ring = createKeyRing({ current: NEW })
const NOW = 1_800_000_000_000
const UID_MAX = Number.MAX_SAFE_INTEGER

const ticketClaims = { uid: UID_MAX, activityId: 4_294_967_295, skuId: 7, notBefore: NOW, expiresAt: NOW + 60_000 }
const admissionClaims = {
  tokenId: '00112233445566778899aabbccddeeff',
  uid: 42,
  activityId: 1,
  skuId: 2,
  quantity: 3,
  expiresAt: NOW + 60_000,
}

/** Every text that differs from `token` in one character. */
function* spoiled(token: string): Generator<string> {
  for (let at = 0; at < token.length; at++) {
    yield `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`
  }
}

describe('key ring', () => {
  test('a token of the previous key is good until that key is dropped', () => {
    const before = createKeyRing({ current: OLD })
    const during = createKeyRing({ current: NEW, previous: OLD })
    const session = issueSession(before, { uid: 5, expiresAt: NOW + 1_000 })

    expect(verifySession(during, session, NOW).ok).toBe(true)
    expect(verifySession(ring, session, NOW)).toEqual({ ok: false, reason: 'bad-signature' })
  })

  test('a short secret is refused', () => {
    expect(() => createKeyRing({ current: 'short' })).toThrow(RangeError)
  })
})

describe('session', () => {
  test('says who the buyer is until it runs out', () => {
    const session = issueSession(ring, { uid: UID_MAX, expiresAt: NOW + 1_000 })

    expect(verifySession(ring, session, NOW)).toEqual({ ok: true, uid: UID_MAX, expiresAt: NOW + 1_000 })
    expect(verifySession(ring, session, NOW + 1_000)).toEqual({ ok: false, reason: 'expired' })
  })

  test('no changed character passes', () => {
    for (const text of spoiled(issueSession(ring, { uid: 9, expiresAt: NOW + 1_000 }))) {
      expect(verifySession(ring, text, NOW).ok).toBe(false)
    }
  })

  test('another algorithm than HS256 is refused, also when the rest is right', () => {
    const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const signed = `${base64({ alg: 'none' })}.${base64({ sub: '1', exp: NOW })}`

    expect(verifySession(ring, `${signed}.`, NOW)).toEqual({ ok: false, reason: 'malformed' })
    expect(
      verifySession(ring, `${signed}.${createHmac('sha256', NEW).update(signed).digest('base64url')}`, NOW).ok,
    ).toBe(false)
  })

  test('garbage is malformed and never throws', () => {
    for (const text of ['', '.', '..', 'a.b.c', 'a.b.c.d', 'ä.ö.ü', 'x'.repeat(100_000), '....']) {
      expect(verifySession(ring, text, NOW)).toEqual({ ok: false, reason: 'malformed' })
    }
  })
})

describe('ticket', () => {
  test('is good for its buyer from its time on until it runs out', () => {
    const ticket = issueTicket(ring, ticketClaims)

    expect(ticket.length).toBeLessThanOrEqual(TICKET_CHARS_MAX)
    expect(readTicketScope(ticket)).toEqual({ activityId: 4_294_967_295, skuId: 7 })
    expect(verifyTicket(ring, ticket, UID_MAX, NOW)).toBe('ok')
    expect(verifyTicket(ring, ticket, UID_MAX, NOW - 1)).toBe('early')
    expect(verifyTicket(ring, ticket, UID_MAX, NOW + 60_000)).toBe('expired')
    expect(verifyTicket(ring, ticket, 4, NOW)).toBe('foreign')
  })

  test('no changed character passes, in the clear part neither', () => {
    for (const text of spoiled(issueTicket(ring, ticketClaims))) {
      expect(['malformed', 'bad-signature', 'implausible', 'expired']).toContain(verifyTicket(ring, text, UID_MAX, NOW))
    }
    const moved = issueTicket(ring, ticketClaims).replace('.7.', '.8.')
    expect(verifyTicket(ring, moved, UID_MAX, NOW)).toBe('bad-signature')
  })

  test('garbage has no scope', () => {
    for (const text of [
      '',
      '.',
      '..',
      '1.2.',
      '0.1.x',
      '1.2.3',
      '01.2.x',
      '-1.2.x',
      'x'.repeat(10_000),
      '1.4294967296.A',
    ]) {
      expect(readTicketScope(text)).toBeUndefined()
      expect(verifyTicket(ring, text, 1, NOW)).toBe('malformed')
    }
  })
})

describe('admission token', () => {
  test('carries its claims until it runs out', () => {
    const token = issueAdmission(ring, admissionClaims)

    expect(verifyAdmission(ring, token, NOW)).toEqual({ ok: true, claims: admissionClaims })
    expect(verifyAdmission(ring, token, NOW + 60_000)).toMatchObject({ ok: false, reason: 'expired' })
  })

  test('no changed character passes', () => {
    for (const text of spoiled(issueAdmission(ring, admissionClaims))) {
      expect(verifyAdmission(ring, text, NOW).ok).toBe(false)
    }
  })

  test('a token of one purpose is none of another', () => {
    const token = issueAdmission(ring, admissionClaims)
    const ticket = issueTicket(ring, ticketClaims)

    expect(verifyAdmission(ring, ticket.slice(ticket.lastIndexOf('.') + 1), NOW).ok).toBe(false)
    expect(verifySession(ring, token, NOW).ok).toBe(false)
  })

  test('claims that no field can hold are refused when it is issued', () => {
    expect(() => issueAdmission(ring, { ...admissionClaims, tokenId: 'x' })).toThrow(RangeError)
    expect(() => issueAdmission(ring, { ...admissionClaims, uid: 2 ** 53 })).toThrow(RangeError)
    expect(() => issueAdmission(ring, { ...admissionClaims, quantity: -1 })).toThrow(RangeError)
  })
})
