import { timingSafeEqual } from 'node:crypto'
import type { KeyRing, Purpose } from './key-ring.ts'

/** Length of a MAC: HMAC-SHA256. */
export const MAC_BYTES = 32

/** Whether `mac` is that of `bytes` under the current or the previous key; compares in constant time. */
export function isSigned(ring: KeyRing, purpose: Purpose, bytes: Uint8Array | string, mac: Uint8Array): boolean {
  if (mac.length !== MAC_BYTES) return false
  if (timingSafeEqual(ring.current[purpose].macOf(bytes), mac)) return true
  return ring.previous !== undefined && timingSafeEqual(ring.previous[purpose].macOf(bytes), mac)
}

/** Bytes of canonical base64url text, else undefined: one token has one spelling. */
export function fromBase64Url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}
