/** Second stage: who asks. A verified session is remembered for a while, bounded; what failed is not. */

import { type KeyRing, verifySession } from '@bigtap/token'

/** 65,536 sessions in two halves are about 20 MB; a hit takes 0.1 us, a verification 6 us. */
export const SESSIONS_MAX = 65_536

/** The session text of a request, '' when there is none: `Authorization: Bearer`, else the cookie `bt_session`. */
export function sessionText(authorization: string, cookie: string): string {
  if (authorization !== '') {
    return authorization.length > 7 && authorization.slice(0, 7).toLowerCase() === 'bearer '
      ? authorization.slice(7)
      : ''
  }
  if (cookie === '') return ''
  for (const part of cookie.split(';')) {
    const text = part.trim()
    if (text.startsWith('bt_session=')) return text.slice('bt_session='.length)
  }
  return ''
}

interface Known {
  readonly uid: number
  readonly expiresAt: number
}

/**
 * Verified sessions, in two generations: a full young one becomes the old one, and what was used of the old one moves up.
 *
 *   young ─ full ─► old ─ full again ─► forgotten          used in old ─► young
 */
export class Sessions {
  readonly #ring: KeyRing
  readonly #half: number
  #young = new Map<string, Known>()
  #old = new Map<string, Known>()

  constructor(ring: KeyRing, sessionsMax = SESSIONS_MAX) {
    this.#ring = ring
    this.#half = Math.max(1, sessionsMax >> 1)
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }

  /** The uid of a session text at `now`, or 0. */
  uidOf(text: string, now: number): number {
    if (text === '') return 0
    const known = this.#young.get(text) ?? this.#fromOld(text)
    if (known !== undefined) return now < known.expiresAt ? known.uid : 0
    const result = verifySession(this.#ring, text, now)
    if (!result.ok) return 0
    this.#remember(text, { uid: result.uid, expiresAt: result.expiresAt })
    return result.uid
  }

  #fromOld(text: string): Known | undefined {
    const known = this.#old.get(text)
    if (known !== undefined) this.#remember(text, known)
    return known
  }

  #remember(text: string, known: Known): void {
    if (this.#young.size >= this.#half) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(text, known)
  }
}
