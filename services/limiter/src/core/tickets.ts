/** Third stage: is the path this buyer's? Who waits comes back with the same ticket each half second. */

import { judgeTicket, type KeyRing, openTicket, type TicketClaims, type TicketOutcome } from '@bigtap/token'
import { Remembered } from './remembered.ts'

/** 65,536 tickets are about 20 MB; a hit takes 0.1 us, opening one 2 us. */
export const TICKETS_MAX = 65_536

/** What a limiter says of a ticket; `void`: it is of an earlier run of its activity, which was reset or moved since. */
export type TicketVerdict = TicketOutcome | 'void'

/** Opened tickets; what was refused is not remembered, and uid, times and opening are judged each time. */
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

  /** What verifyTicket of the token package says, for an activity that opens at `opensAt`. */
  verify(ticket: string, uid: number, now: number, opensAt: number): TicketVerdict {
    const claims = this.#opened.get(ticket) ?? this.#open(ticket, now)
    if (typeof claims === 'string') return claims
    const outcome = judgeTicket(claims, uid, now)
    return outcome !== 'foreign' && claims.notBefore !== opensAt ? 'void' : outcome
  }

  #open(ticket: string, now: number): TicketClaims | TicketOutcome {
    const claims = openTicket(this.#ring, ticket, now)
    if (typeof claims !== 'string') this.#opened.set(ticket, claims)
    return claims
  }
}
