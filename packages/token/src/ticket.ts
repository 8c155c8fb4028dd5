import { CanonicalReader, CanonicalWriter } from './canonical.ts'
import type { KeyRing } from './key-ring.ts'
import { fromBase64Url, isSignedBy, MAC_BYTES } from './mac.ts'
import { KEY_PERIOD_MS } from './period-keys.ts'

/*
 * The hidden purchase path:  <activityId>.<skuId>.<base64url(fields | mac)>
 *   fields  [1][version] [8][uid] [4][activityId] [4][skuId] [8][notBefore] [8][expiresAt]
 *   mac     under the key of the ten minutes in which it expires (PeriodKeys)
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

/** Why a ticket is none: no ticket, none of ours, one whose times no ticket of ours has, or one that ran out long ago. */
export type TicketFault = 'malformed' | 'bad-signature' | 'implausible' | 'expired'

/** What became of a ticket's check. */
export type TicketOutcome = 'ok' | TicketFault | 'early' | 'foreign'

/** Longest life that is believed, and so the longest that may be set: a ticket of more is forged. */
export const TICKET_MS_MAX = 3_600_000

/** Clocks of two limiters differ by less (one that is 50 ms off raises an alarm). */
const SKEW_MS_MAX = 5_000
const VERSION = 2
const FIELDS_BYTES = 2 + 9 + 5 + 5 + 9 + 9
const TEXT_CHARS = Math.ceil(((FIELDS_BYTES + MAC_BYTES) * 4) / 3)

/** Longest ticket: two u32 in decimal, two dots, the signed text. */
export const TICKET_CHARS_MAX = 10 + 1 + 10 + 1 + TEXT_CHARS

/** Issues the hidden purchase path of one buyer and product; `expiresAt` at most an hour ahead, else nobody believes it. */
export function issueTicket(ring: KeyRing, claims: TicketClaims): string {
  const { uid, activityId, skuId, notBefore, expiresAt } = claims
  const writer = new CanonicalWriter(FIELDS_BYTES + MAC_BYTES)
  writer.u8(VERSION).u53(uid).u32(activityId).u32(skuId).u53(notBefore).u53(expiresAt)
  const bytes = writer.rest(ring.current.ticket.keyOf(expiresAt).macOf(writer.written))
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

/** Checks, in this order: shape, plausible times, signature, uid, notBefore, expiry. Never throws. */
export function verifyTicket(ring: KeyRing, ticket: string, uid: number, nowMs: number): TicketOutcome {
  const claims = openTicket(ring, ticket, nowMs)
  return typeof claims === 'string' ? claims : judgeTicket(claims, uid, nowMs)
}

/**
 * The first half of verifyTicket, the same for anybody: the claims of a ticket of ours. `expired` here says that it ran
 * out a key's period ago or more; whose it was is then not looked at.
 */
export function openTicket(ring: KeyRing, ticket: string, nowMs: number): TicketClaims | TicketFault {
  const scope = readTicketScope(ticket)
  const bytes = scope === undefined ? undefined : fromBase64Url(ticket.slice(-TEXT_CHARS))
  if (scope === undefined || bytes?.length !== FIELDS_BYTES + MAC_BYTES) return 'malformed'
  const fields = bytes.subarray(0, FIELDS_BYTES)
  const claims = readClaims(fields)
  if (claims === undefined) return 'malformed'
  // Before any key is derived: a forged expiry must not cost one.
  const fault = timesFault(claims, nowMs)
  if (fault !== undefined) return fault
  const { expiresAt } = claims
  if (!isSignedBy(ring, ({ ticket }) => ticket.keyOf(expiresAt), fields, bytes.subarray(FIELDS_BYTES)))
    return 'bad-signature'
  return claims.activityId === scope.activityId && claims.skuId === scope.skuId ? claims : 'bad-signature'
}

/** Which periods are asked for is bounded by this: at most nine at a time. */
function timesFault({ notBefore, expiresAt }: TicketClaims, nowMs: number): TicketFault | undefined {
  if (expiresAt > nowMs + TICKET_MS_MAX + SKEW_MS_MAX || notBefore >= expiresAt) return 'implausible'
  return expiresAt + KEY_PERIOD_MS <= nowMs ? 'expired' : undefined
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
