import type { KeyRing } from './key-ring.ts'
import { fromBase64Url, isSigned } from './mac.ts'

/** Longest session text that is looked at, in characters. */
export const SESSION_CHARS_MAX = 1_024

/** `expiresAt` in ms since the epoch; the JWT keeps whole seconds, rounded up. */
export interface SessionClaims {
  uid: number
  expiresAt: number
}

/** A verified session, or why it is none. */
export type SessionResult =
  | { ok: true; uid: number; expiresAt: number }
  | { ok: false; reason: 'malformed' | 'bad-signature' | 'expired' }

/** {"alg":"HS256","typ":"JWT"}: the one header that issueSession writes. */
const HEADER = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url')

/** A compact JWT, HS256, with `sub` = uid and `exp`. */
export function issueSession(ring: KeyRing, { uid, expiresAt }: SessionClaims): string {
  const claims = JSON.stringify({ sub: String(uid), exp: Math.ceil(expiresAt / 1000) })
  const signed = `${HEADER}.${Buffer.from(claims).toString('base64url')}`
  return `${signed}.${ring.current.session.macOf(signed).toString('base64url')}`
}

/** Who the session belongs to, or why it is refused. Never throws. */
export function verifySession(ring: KeyRing, jwt: string, nowMs: number): SessionResult {
  if (jwt.length > SESSION_CHARS_MAX) return MALFORMED
  const [header, payload, signature, extra] = jwt.split('.', 4)
  if (header === undefined || payload === undefined || signature === undefined || extra !== undefined) return MALFORMED
  if (header !== HEADER && !isHs256(header)) return MALFORMED
  const mac = fromBase64Url(signature)
  const claims = fromBase64Url(payload)
  if (mac === undefined || claims === undefined) return MALFORMED
  if (!isSigned(ring, 'session', `${header}.${payload}`, mac)) return { ok: false, reason: 'bad-signature' }
  const parsed = readClaims(claims)
  if (parsed === undefined) return MALFORMED
  if (nowMs >= parsed.expiresAt) return { ok: false, reason: 'expired' }
  return { ok: true, uid: parsed.uid, expiresAt: parsed.expiresAt }
}

const MALFORMED: SessionResult = Object.freeze({ ok: false, reason: 'malformed' })

/** Another writer may order the header's fields differently; `alg` is never taken from anything else than HS256. */
function isHs256(header: string): boolean {
  const bytes = fromBase64Url(header)
  const fields = bytes === undefined ? undefined : parseObject(bytes)
  return fields?.alg === 'HS256' && fields.crit === undefined
}

function readClaims(bytes: Buffer): SessionClaims | undefined {
  const claims = parseObject(bytes)
  if (claims === undefined || typeof claims.sub !== 'string' || !/^[1-9]\d{0,15}$/.test(claims.sub)) return undefined
  const uid = Number(claims.sub)
  const { exp } = claims
  if (!Number.isSafeInteger(uid) || typeof exp !== 'number' || !Number.isFinite(exp) || exp < 0) return undefined
  return { uid, expiresAt: exp * 1000 }
}

function parseObject(bytes: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined // text that is no JSON is a malformed token, which the caller answers
  }
}
