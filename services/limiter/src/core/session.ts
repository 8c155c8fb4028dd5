/** Second stage: who asks. A verified session is remembered for a while, bounded; what failed is not. */

import { type KeyRing, verifySession } from '@bigtap/token'
import { Remembered } from './remembered.ts'

/** 65,536 sessions in two halves are about 20 MB; a hit takes 0.1 us, a verification 6 us. */
export const SESSIONS_MAX = 65_536

/** The session text of a request, '' when there is none: `Authorization: Bearer`, else the cookie `bt_session`. */
export function sessionText(authorization: string, cookie: string): string {
  if (authorization !== '') {
    return authorization.length > 7 && authorization.slice(0, 7).toLowerCase() === 'bearer '
      ? authorization.slice(7)
      : ''
  }
  return cookieValue(cookie, 'bt_session')
}

/** The value of one cookie of a `Cookie` header, '' when it is not there. */
export function cookieValue(cookie: string, name: string): string {
  if (cookie === '') return ''
  for (const part of cookie.split(';')) {
    const text = part.trim()
    if (text.startsWith(name) && text[name.length] === '=') return text.slice(name.length + 1)
  }
  return ''
}

interface Known {
  readonly uid: number
  readonly expiresAt: number
}

/** Verified sessions. */
export class Sessions {
  readonly #ring: KeyRing
  readonly #known: Remembered<Known>

  constructor(ring: KeyRing, sessionsMax = SESSIONS_MAX) {
    this.#ring = ring
    this.#known = new Remembered(sessionsMax)
  }

  get size(): number {
    return this.#known.size
  }

  /** The uid of a session text at `now`, or 0. */
  uidOf(text: string, now: number): number {
    if (text === '') return 0
    const known = this.#known.get(text)
    if (known !== undefined) return now < known.expiresAt ? known.uid : 0
    const result = verifySession(this.#ring, text, now)
    if (!result.ok) return 0
    this.#known.set(text, { uid: result.uid, expiresAt: result.expiresAt })
    return result.uid
  }
}
