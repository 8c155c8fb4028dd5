import { createKeyRing, issueTicket, verifyTicket } from '@bigtap/token'
import { expect, test } from 'vitest'
import { Tickets } from './tickets.ts'

const NOW = 1_800_000_000_000
const ring = createKeyRing({ current: 'token-secret-of-the-test' })
const ticketOf = (uid: number) =>
  issueTicket(ring, { uid, activityId: 7, skuId: 1, notBefore: NOW, expiresAt: NOW + 1_000 })

test('a remembered ticket is judged anew each time: by buyer, by opening and by expiry', () => {
  const tickets = new Tickets(ring)
  const ticket = ticketOf(5)

  for (let round = 0; round < 2; round++) {
    for (const uid of [5, 6]) {
      for (const now of [NOW - 1, NOW, NOW + 999, NOW + 1_000]) {
        expect(tickets.verify(ticket, uid, now, NOW)).toBe(verifyTicket(ring, ticket, uid, now))
      }
    }
  }
  expect(tickets.size).toBe(1)
})

test('a ticket of an earlier run of the activity is void, the first time and when it is remembered', () => {
  const tickets = new Tickets(ring)
  const ticket = ticketOf(5)

  expect(tickets.verify(ticket, 5, NOW, NOW + 1)).toBe('void')
  expect(tickets.verify(ticket, 5, NOW, NOW)).toBe('ok')
  expect(tickets.verify(ticket, 5, NOW, NOW - 60_000)).toBe('void')
  expect(tickets.verify(ticket, 6, NOW, NOW - 60_000)).toBe('foreign')
})

test('forged tickets are refused each time and take no memory', () => {
  const tickets = new Tickets(ring)
  const forged = ticketOf(5).replace(/^7/, '8')

  expect(tickets.verify(forged, 5, NOW, NOW)).toBe('bad-signature')
  expect(tickets.verify(forged, 5, NOW, NOW)).toBe('bad-signature')
  expect(tickets.verify('7.1.x', 5, NOW, NOW)).toBe('malformed')
  expect(tickets.size).toBe(0)
})

test('the memory of tickets is bounded, and one in use is not forgotten', () => {
  const tickets = new Tickets(ring, 8)

  for (let uid = 1; uid <= 100; uid++) {
    expect(tickets.verify(ticketOf(uid), uid, NOW, NOW)).toBe('ok')
    expect(tickets.verify(ticketOf(1), 1, NOW, NOW)).toBe('ok')
  }
  expect(tickets.size).toBeLessThanOrEqual(8)
})
