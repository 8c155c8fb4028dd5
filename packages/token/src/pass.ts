import { CanonicalReader, CanonicalWriter } from './canonical.ts'
import type { KeyRing, Purpose } from './key-ring.ts'
import { fromBase64Url, isSigned, MAC_BYTES } from './mac.ts'

/*
 * The pass of who has solved a challenge:  base64url(fields | mac)
 *   fields  [1][version] [8][uid] [4][activityId] [8][expiresAt]
 * The voucher of who waits instead:  "wait." base64url(fields | mac)
 *   fields  [1][version] [16][id] [8][uid] [4][activityId] [8][notBefore] [8][expiresAt]
 */

/** Who need not solve another challenge, where and how long; ms since the epoch. */
export interface PassClaims {
  readonly uid: number
  readonly activityId: number
  readonly expiresAt: number
}

/** A wait instead of a challenge: good from `notBefore` to `expiresAt`, once. `id` is 32 characters of lower hex. */
export interface VoucherClaims extends PassClaims {
  readonly id: string
  readonly notBefore: number
}

/** What became of a pass's check. */
export type PassOutcome = 'ok' | 'malformed' | 'bad-signature' | 'foreign' | 'expired'

/** What became of a voucher's check; `early` and `ok` say what is in it. */
export type VoucherResult =
  | { readonly outcome: 'ok' | 'early'; readonly claims: VoucherClaims }
  | { readonly outcome: Exclude<PassOutcome, 'ok'> }

const VERSION = 1
const PASS_BYTES = 2 + 9 + 5 + 9
const ID_BYTES = 16
const VOUCHER_BYTES = 2 + 17 + 9 + 5 + 9 + 9
const charsOf = (fieldsBytes: number) => Math.ceil(((fieldsBytes + MAC_BYTES) * 4) / 3)

/** What a voucher begins with: no solution does, for a point is no base64. */
export const VOUCHER_PREFIX = 'wait.'
/** Length of every pass, in characters. */
export const PASS_CHARS = charsOf(PASS_BYTES)
/** Length of every voucher, in characters. */
export const VOUCHER_CHARS = VOUCHER_PREFIX.length + charsOf(VOUCHER_BYTES)

/** Issues a pass. */
export function issuePass(ring: KeyRing, { uid, activityId, expiresAt }: PassClaims): string {
  const writer = new CanonicalWriter(PASS_BYTES + MAC_BYTES)
  writer.u8(VERSION).u53(uid).u32(activityId).u53(expiresAt)
  return writer.rest(ring.current.pass.macOf(writer.written)).toString('base64url')
}

/** Checks, in this order: shape, signature, uid and activity, expiry. Never throws. */
export function verifyPass(
  ring: KeyRing,
  pass: string,
  { uid, activityId, nowMs }: { uid: number; activityId: number; nowMs: number },
): PassOutcome {
  const fields = openFields(ring, 'pass', pass, PASS_BYTES)
  if (typeof fields === 'string') return fields
  const reader = new CanonicalReader(fields)
  const version = reader.u8()
  const claims: PassClaims = { uid: reader.u53(), activityId: reader.u32(), expiresAt: reader.u53() }
  if (!reader.isValid || version !== VERSION) return 'malformed'
  return judge(claims, uid, activityId, nowMs)
}

/** Issues a voucher. Throws a RangeError when the id is not 32 characters of lower hex. */
export function issueVoucher(ring: KeyRing, claims: VoucherClaims): string {
  const { id, uid, activityId, notBefore, expiresAt } = claims
  if (!/^[0-9a-f]{32}$/.test(id)) throw new RangeError('voucher id is not 32 characters of lower hex')
  const writer = new CanonicalWriter(VOUCHER_BYTES + MAC_BYTES)
  writer.u8(VERSION).hex(id, ID_BYTES).u53(uid).u32(activityId).u53(notBefore).u53(expiresAt)
  return VOUCHER_PREFIX + writer.rest(ring.current.voucher.macOf(writer.written)).toString('base64url')
}

/** Checks, in this order: shape, signature, uid and activity, expiry, notBefore. Never throws. */
export function verifyVoucher(
  ring: KeyRing,
  voucher: string,
  { uid, activityId, nowMs }: { uid: number; activityId: number; nowMs: number },
): VoucherResult {
  if (!voucher.startsWith(VOUCHER_PREFIX)) return { outcome: 'malformed' }
  const fields = openFields(ring, 'voucher', voucher.slice(VOUCHER_PREFIX.length), VOUCHER_BYTES)
  if (typeof fields === 'string') return { outcome: fields }
  const reader = new CanonicalReader(fields)
  const version = reader.u8()
  const id = reader.hex(ID_BYTES)
  const claims: VoucherClaims = {
    ...{ id, uid: reader.u53(), activityId: reader.u32() },
    ...{ notBefore: reader.u53(), expiresAt: reader.u53() },
  }
  if (!reader.isValid || version !== VERSION) return { outcome: 'malformed' }
  const outcome = judge(claims, uid, activityId, nowMs)
  if (outcome !== 'ok') return { outcome }
  return { outcome: nowMs < claims.notBefore ? 'early' : 'ok', claims }
}

function openFields(
  ring: KeyRing,
  purpose: Purpose,
  text: string,
  fieldsBytes: number,
): Buffer | 'malformed' | 'bad-signature' {
  const bytes = text.length === charsOf(fieldsBytes) ? fromBase64Url(text) : undefined
  if (bytes?.length !== fieldsBytes + MAC_BYTES) return 'malformed'
  const fields = bytes.subarray(0, fieldsBytes)
  return isSigned(ring, purpose, fields, bytes.subarray(fieldsBytes)) ? fields : 'bad-signature'
}

function judge(claims: PassClaims, uid: number, activityId: number, nowMs: number): PassOutcome {
  if (claims.uid !== uid || claims.activityId !== activityId) return 'foreign'
  return nowMs >= claims.expiresAt ? 'expired' : 'ok'
}
