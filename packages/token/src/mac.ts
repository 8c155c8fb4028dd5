import { timingSafeEqual } from 'node:crypto'
import type { KeyRing, Purpose, PurposeKeys } from './key-ring.ts'
import type { MacKey } from './mac-key.ts'

/** Length of a MAC: HMAC-SHA256. */
export const MAC_BYTES = 32

/** Whether `mac` is that of `bytes` under the current or the previous key; compares in constant time. */
export function isSigned(ring: KeyRing, purpose: Purpose, bytes: Uint8Array | string, mac: Uint8Array): boolean {
  return isSignedBy(ring, (keys) => keys[purpose], bytes, mac)
}

/** isSigned with a key that is not one per purpose. */
export function isSignedBy(
  { current, previous }: KeyRing,
  keyOf: (keys: PurposeKeys) => MacKey,
  bytes: Uint8Array | string,
  mac: Uint8Array,
): boolean {
  if (mac.length !== MAC_BYTES) return false
  if (timingSafeEqual(keyOf(current).macOf(bytes), mac)) return true
  return previous !== undefined && timingSafeEqual(keyOf(previous).macOf(bytes), mac)
}

/** Bytes of canonical base64url text, else undefined: one token has one spelling. */
export function fromBase64Url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}
