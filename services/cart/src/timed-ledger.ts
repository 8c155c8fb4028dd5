import type { Clock } from '@bigtap/kernel'
import type { LedgerReply } from '@bigtap/protocol'
import { WaitMeter } from '@bigtap/store'
import type { AdmissionClaims } from '@bigtap/token'
import type { Reserving } from './routes.ts'

/** A ledger whose calls are timed; what they take is the cart's pressure. */
export class TimedLedger implements Reserving {
  readonly #deadlineMs: number
  readonly #ledger: Reserving
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #calls = new WaitMeter()

  constructor(
    { deadlineMs }: { deadlineMs: number },
    { ledger, clock }: { ledger: Reserving; clock: Pick<Clock, 'monotonic'> },
  ) {
    this.#deadlineMs = deadlineMs
    this.#ledger = ledger
    this.#clock = clock
  }

  async reserve(claims: AdmissionClaims): Promise<LedgerReply> {
    const startedAt = this.#clock.monotonic()
    try {
      const reply = await this.#ledger.reserve(claims)
      this.#calls.add(this.#clock.monotonic() - startedAt)
      return reply
    } catch (error) {
      // Nobody knows how long it would have taken: longer than the deadline, so twice that.
      this.#calls.add(this.#deadlineMs * 2)
      throw error
    }
  }

  /** Mean ms of the calls that ended since the last look, 0 where none did. */
  takeCallMs(): number {
    return this.#calls.take()
  }
}
