import { CanonicalReader, CanonicalWriter } from './canonical.ts'
import type { KeyRing } from './key-ring.ts'
import { fromBase64Url, isSigned, MAC_BYTES } from './mac.ts'

/*
 * The admission token:  base64url(fields | mac)
 *   fields  [1][version] [16][tokenId] [8][uid] [4][activityId] [4][skuId] [4][quantity] [8][expiresAt]
 */

/** What a grant promises. `tokenId` is 32 characters of lower hex; `expiresAt` in ms since the epoch. */
export interface AdmissionClaims {
  tokenId: string
  uid: number
  activityId: number
  skuId: number
  quantity: number
  expiresAt: number
}

/** An expired token says whose it was, too: its signature is good. */
export type AdmissionResult =
  | { ok: true; claims: AdmissionClaims }
  | { ok: false; reason: 'malformed' | 'bad-signature' }
  | { ok: false; reason: 'expired'; claims: AdmissionClaims }

const VERSION = 1
const TOKEN_ID_BYTES = 16
const FIELDS_BYTES = 2 + 17 + 9 + 5 + 5 + 5 + 9

/** Length of every admission token, in characters. */
export const ADMISSION_CHARS = Math.ceil(((FIELDS_BYTES + MAC_BYTES) * 4) / 3)

/** Throws a RangeError when the claims are not what the fields can hold. */
export function issueAdmission(ring: KeyRing, claims: AdmissionClaims): string {
  const { tokenId, uid, activityId, skuId, quantity, expiresAt } = claims
  if (!/^[0-9a-f]{32}$/.test(tokenId)) throw new RangeError('token id is not 32 characters of lower hex')
  const writer = new CanonicalWriter(FIELDS_BYTES + MAC_BYTES)
  writer.u8(VERSION).hex(tokenId, TOKEN_ID_BYTES).u53(uid).u32(activityId).u32(skuId).u32(quantity).u53(expiresAt)
  return writer.rest(ring.current.admission.macOf(writer.written)).toString('base64url')
}

/** Checks, in this order: shape, signature, expiry. Never throws. */
export function verifyAdmission(ring: KeyRing, token: string, nowMs: number): AdmissionResult {
  const bytes = token.length === ADMISSION_CHARS ? fromBase64Url(token) : undefined
  if (bytes?.length !== FIELDS_BYTES + MAC_BYTES) return { ok: false, reason: 'malformed' }
  const fields = bytes.subarray(0, FIELDS_BYTES)
  if (!isSigned(ring, 'admission', fields, bytes.subarray(FIELDS_BYTES))) return { ok: false, reason: 'bad-signature' }
  const claims = readClaims(fields)
  if (claims === undefined) return { ok: false, reason: 'malformed' }
  return nowMs >= claims.expiresAt ? { ok: false, reason: 'expired', claims } : { ok: true, claims }
}

function readClaims(fields: Buffer): AdmissionClaims | undefined {
  const reader = new CanonicalReader(fields)
  const version = reader.u8()
  const claims = {
    tokenId: reader.hex(TOKEN_ID_BYTES),
    uid: reader.u53(),
    activityId: reader.u32(),
    skuId: reader.u32(),
    quantity: reader.u32(),
    expiresAt: reader.u53(),
  }
  return reader.isValid && version === VERSION ? claims : undefined
}
