import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  createKeyRing,
  issueTicket,
  KEY_PERIOD_MS,
  openTicket,
  PeriodKeys,
  TICKET_MS_MAX,
  verifyTicket,
} from './index.ts'
import { MacKey } from './mac-key.ts'

const SECRET = 'a secret of the platform'
const NOW = 1_800_000_000_000
const root = Buffer.alloc(32, 7)
const macOf = (keys: PeriodKeys, at: number) => keys.keyOf(at).macOf('x').toString('hex')
const claims = { uid: 5, activityId: 7, skuId: 1, notBefore: NOW - 1_000, expiresAt: NOW + 60_000 }

test('the key of ten minutes is what HMAC-SHA256 says of the key above it', () => {
  const period = Math.floor(NOW / KEY_PERIOD_MS)
  const derived = createHmac('sha256', root).update(`label.${period}`).digest()
  const expected = createHmac('sha256', derived).update('x').digest('hex')

  expect(macOf(new PeriodKeys(new MacKey(root), 'label'), NOW)).toBe(expected)
})

test('one key serves its ten minutes, and no other ten minutes', () => {
  const keys = new PeriodKeys(new MacKey(root), 'label')
  const start = Math.ceil(NOW / KEY_PERIOD_MS) * KEY_PERIOD_MS

  expect(macOf(keys, start)).toBe(macOf(keys, start + KEY_PERIOD_MS - 1))
  expect(macOf(keys, start)).not.toBe(macOf(keys, start - 1))
  expect(macOf(keys, start)).not.toBe(macOf(keys, start + KEY_PERIOD_MS))
})

test('keys are derived once while they are in use, and a forgotten one is derived to the same', () => {
  const keys = new PeriodKeys(new MacKey(root), 'label')
  const first = macOf(keys, NOW)
  for (let round = 0; round < 100; round++)
    for (let ahead = 0; ahead < 9; ahead++) macOf(keys, NOW + ahead * KEY_PERIOD_MS)
  expect(keys.derived).toBe(9)

  for (let ahead = 0; ahead < 1_000; ahead++) macOf(keys, NOW + ahead * KEY_PERIOD_MS)

  expect(macOf(keys, NOW)).toBe(first)
})

test('a forged expiry is refused before a key is derived for it', () => {
  const ring = createKeyRing({ current: SECRET })
  const forger = createKeyRing({ current: 'another secret than ours' })
  verifyTicket(ring, issueTicket(ring, claims), 5, NOW)
  const before = ring.current.ticket.derived

  for (let ahead = 1; ahead < 2_000; ahead++) {
    const expiresAt = NOW + TICKET_MS_MAX + ahead * KEY_PERIOD_MS
    expect(openTicket(ring, issueTicket(forger, { ...claims, expiresAt }), NOW)).toBe('implausible')
    const past = NOW - ahead * KEY_PERIOD_MS
    expect(openTicket(ring, issueTicket(forger, { ...claims, notBefore: 1, expiresAt: past }), NOW)).toBe('expired')
  }

  expect(ring.current.ticket.derived).toBe(before)
})

test('forgers can make nobody hold or derive more than the keys of an hour', () => {
  const ring = createKeyRing({ current: SECRET, previous: 'the secret before this one' })
  const forger = createKeyRing({ current: 'another secret than ours' })

  for (let ahead = -600_000; ahead <= TICKET_MS_MAX; ahead += 1_000) {
    const outcome = openTicket(ring, issueTicket(forger, { ...claims, notBefore: 1, expiresAt: NOW + ahead }), NOW)
    expect(['bad-signature', 'expired']).toContain(outcome)
  }

  expect(ring.current.ticket.derived).toBeLessThanOrEqual(9)
  expect(ring.previous?.ticket.derived).toBeLessThanOrEqual(9)
})

test('a key that leaked signs nothing beyond its ten minutes', () => {
  const ring = createKeyRing({ current: SECRET })
  const end = Math.ceil((NOW + 60_000) / KEY_PERIOD_MS) * KEY_PERIOD_MS
  const leaked = ring.current.ticket.keyOf(end - 1)
  const thief = createKeyRing({ current: 'the thief has no secret' })
  const forge = (expiresAt: number) => {
    const text = issueTicket(thief, { ...claims, expiresAt })
    const cut = text.lastIndexOf('.') + 1
    const bytes = Buffer.from(text.slice(cut), 'base64url')
    leaked.macOf(bytes.subarray(0, -32)).copy(bytes, bytes.length - 32)
    return text.slice(0, cut) + bytes.toString('base64url')
  }

  expect(verifyTicket(ring, forge(end - 1), 5, NOW)).toBe('ok')
  expect(verifyTicket(ring, forge(end), 5, NOW)).toBe('bad-signature')
  expect(verifyTicket(ring, forge(end - 1), 5, end)).toBe('expired')
})

test('tickets of the previous secret are good over the change of a key and of a period', () => {
  const before = createKeyRing({ current: 'the secret before this one' })
  const during = createKeyRing({ current: SECRET, previous: 'the secret before this one' })
  const after = createKeyRing({ current: SECRET })

  for (let offset = 0; offset < 2 * KEY_PERIOD_MS; offset += 37_000) {
    const now = NOW + offset
    const ticket = issueTicket(before, { ...claims, expiresAt: now + 60_000 })
    expect(verifyTicket(during, ticket, 5, now)).toBe('ok')
    expect(verifyTicket(after, ticket, 5, now)).toBe('bad-signature')
  }
})

test('the bytes of docs/PROTOCOL.md', () => {
  const vectors = JSON.parse(readFileSync(new URL('../../../proto/vectors/ticket.json', import.meta.url), 'utf8'))

  expect(vectors.length).toBeGreaterThanOrEqual(2)
  for (const { secret, ticket, ...rest } of vectors) {
    const ring = createKeyRing({ current: secret })
    const claims = { uid: rest.uid, activityId: rest.activityId, skuId: rest.skuId }
    expect(issueTicket(ring, { ...claims, notBefore: rest.notBefore, expiresAt: rest.expiresAt })).toBe(ticket)
  }
})
