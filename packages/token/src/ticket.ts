import { CanonicalReader, CanonicalWriter } from './canonical.ts'
import type { KeyRing } from './key-ring.ts'
import { fromBase64Url, isSigned, MAC_BYTES } from './mac.ts'

/*
 * The hidden purchase path:  <activityId>.<skuId>.<base64url(fields | mac)>
 *   fields  [1][version] [8][uid] [4][activityId] [4][skuId] [8][notBefore] [8][expiresAt]
 * Activity and SKU stand in clear so that the gate reads them without decoding; they are signed in the fields.
 */

/** Who may buy what, and when; times in ms since the epoch. */
export interface TicketClaims {
  uid: number
  activityId: number
  skuId: number
  notBefore: number
  expiresAt: number
}

/** What a ticket is for, as it says itself. */
export interface TicketScope {
  activityId: number
  skuId: number
}

/** What became of a ticket's check. */
export type TicketOutcome = 'ok' | 'malformed' | 'bad-signature' | 'expired' | 'early' | 'foreign'

const VERSION = 1
const FIELDS_BYTES = 2 + 9 + 5 + 5 + 9 + 9
const TEXT_CHARS = Math.ceil(((FIELDS_BYTES + MAC_BYTES) * 4) / 3)

/** Longest ticket: two u32 in decimal, two dots, the signed text. */
export const TICKET_CHARS_MAX = 10 + 1 + 10 + 1 + TEXT_CHARS

/** Issues the hidden purchase path of one buyer and product. */
export function issueTicket(ring: KeyRing, claims: TicketClaims): string {
  const { uid, activityId, skuId, notBefore, expiresAt } = claims
  const writer = new CanonicalWriter(FIELDS_BYTES + MAC_BYTES)
  writer.u8(VERSION).u53(uid).u32(activityId).u32(skuId).u53(notBefore).u53(expiresAt)
  const bytes = writer.rest(ring.current.ticket.macOf(writer.written))
  return `${activityId}.${skuId}.${bytes.toString('base64url')}`
}

/** Activity and SKU of a ticket by its shape alone; undefined when it cannot be one. Cheap: for the gate. */
export function readTicketScope(ticket: string): TicketScope | undefined {
  if (ticket.length > TICKET_CHARS_MAX) return undefined
  const first = ticket.indexOf('.')
  const second = ticket.indexOf('.', first + 1)
  if (first < 1 || second < 0 || ticket.length - second - 1 !== TEXT_CHARS) return undefined
  const activityId = parseId(ticket, 0, first)
  const skuId = parseId(ticket, first + 1, second)
  return activityId === 0 || skuId === 0 ? undefined : { activityId, skuId }
}

/** Checks, in this order: shape, signature, uid, notBefore, expiry. Never throws. */
export function verifyTicket(ring: KeyRing, ticket: string, uid: number, nowMs: number): TicketOutcome {
  const claims = openTicket(ring, ticket)
  return typeof claims === 'string' ? claims : judgeTicket(claims, uid, nowMs)
}

/** The first half of verifyTicket, the same at any time and for anybody: the claims of a ticket of ours. */
export function openTicket(ring: KeyRing, ticket: string): TicketClaims | 'malformed' | 'bad-signature' {
  const scope = readTicketScope(ticket)
  const bytes = scope === undefined ? undefined : fromBase64Url(ticket.slice(-TEXT_CHARS))
  if (scope === undefined || bytes?.length !== FIELDS_BYTES + MAC_BYTES) return 'malformed'
  const fields = bytes.subarray(0, FIELDS_BYTES)
  if (!isSigned(ring, 'ticket', fields, bytes.subarray(FIELDS_BYTES))) return 'bad-signature'
  const claims = readClaims(fields)
  if (claims === undefined) return 'malformed'
  return claims.activityId === scope.activityId && claims.skuId === scope.skuId ? claims : 'bad-signature'
}

/** The second half of verifyTicket: is an opened ticket this buyer's, and now? */
export function judgeTicket(claims: TicketClaims, uid: number, nowMs: number): TicketOutcome {
  if (claims.uid !== uid) return 'foreign'
  if (nowMs < claims.notBefore) return 'early'
  return nowMs >= claims.expiresAt ? 'expired' : 'ok'
}

function readClaims(fields: Buffer): TicketClaims | undefined {
  const reader = new CanonicalReader(fields)
  const version = reader.u8()
  const claims = {
    uid: reader.u53(),
    activityId: reader.u32(),
    skuId: reader.u32(),
    notBefore: reader.u53(),
    expiresAt: reader.u53(),
  }
  return reader.isValid && version === VERSION ? claims : undefined
}

/** A positive decimal u32 without leading zeros, else 0. */
function parseId(text: string, from: number, until: number): number {
  if (until - from < 1 || until - from > 10 || text.charCodeAt(from) === 48) return 0
  let value = 0
  for (let at = from; at < until; at++) {
    const digit = text.charCodeAt(at) - 48
    if (digit < 0 || digit > 9) return 0
    value = value * 10 + digit
  }
  return value > 0xffff_ffff ? 0 : value
}
