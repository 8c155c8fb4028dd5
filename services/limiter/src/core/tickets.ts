/** Third stage: is the path this buyer's? Who waits comes back with the same ticket each half second. */

import { judgeTicket, type KeyRing, openTicket, type TicketClaims, type TicketOutcome } from '@bigtap/token'
import { Remembered } from './remembered.ts'

/** 65,536 tickets are about 20 MB; a hit takes 0.1 us, opening one 2 us. */
export const TICKETS_MAX = 65_536

/** Opened tickets; what was refused is not remembered, and uid and times are judged each time. */
export class Tickets {
  readonly #ring: KeyRing
  readonly #opened: Remembered<TicketClaims>

  constructor(ring: KeyRing, ticketsMax = TICKETS_MAX) {
    this.#ring = ring
    this.#opened = new Remembered(ticketsMax)
  }

  get size(): number {
    return this.#opened.size
  }

  /** What verifyTicket of the token package says. */
  verify(ticket: string, uid: number, now: number): TicketOutcome {
    const known = this.#opened.get(ticket)
    if (known !== undefined) return judgeTicket(known, uid, now)
    const claims = openTicket(this.#ring, ticket)
    if (typeof claims === 'string') return claims
    this.#opened.set(ticket, claims)
    return judgeTicket(claims, uid, now)
  }
}
