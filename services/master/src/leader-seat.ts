/** Runs for the leadership: holds the lease in Redis, says when it is won and lost, and knows who has it. */

import type { Reigning } from '@bigtap/db'
import type { Clock, Logger, Random } from '@bigtap/kernel'
import { createWorker, type Worker } from '@bigtap/runtime'
import { NameLease, type Store } from '@bigtap/store'
import { LEASE_MS, Leadership } from './core/leadership.ts'

/** Who runs. `address()` is where other masters reach its admin API; it may be known only once that listens. */
export interface SeatSettings {
  readonly nodeId: string
  address(): string
}

/** Collaborators. */
export interface SeatParts {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** A reign begins; it may act while `epoch()` is its own. */
  onWon(reigning: Reigning): void
  onLost(): void
}

const WATCH_MS = 50
const NONCE_BYTES = 6

/** One process' run. Each candidacy is a new owner: a lease of before is never mistaken for one of now. */
export class LeaderSeat {
  readonly #settings: SeatSettings
  readonly #parts: SeatParts
  readonly #workers: Worker[]
  #leadership = new Leadership()
  #owner = ''
  #lease: NameLease | undefined
  #reigning: Reigning | undefined
  #leaderAddress: string | undefined

  constructor(settings: SeatSettings, parts: SeatParts) {
    this.#settings = settings
    this.#parts = parts
    const renew = { name: 'lease', everyMs: LEASE_MS.renewEvery, work: () => this.#renew(), startsAtOnce: true }
    const watch = { name: 'lease watch', everyMs: WATCH_MS, work: () => this.#watch() }
    this.#workers = [renew, watch].map((settings) => createWorker(settings, parts.logger))
  }

  /** The epoch in which this process may act now, 0 when it may not. */
  epoch(): number {
    return this.#leadership.epochAt(this.#parts.clock.monotonic())
  }

  /** Where the leader's admin API is, when somebody else leads. */
  get leaderAddress(): string | undefined {
    return this.#leaderAddress
  }

  start(): void {
    for (const worker of this.#workers) worker.start()
  }

  /** Ends the reign and lets the next leader begin at once. */
  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.stop()))
    await this.resign('stopping')
  }

  /** Gives the leadership up, and runs again as somebody new. `above`: the next epoch must be above this one. */
  async resign(reason: string, above = 0): Promise<void> {
    const lease = this.#lease
    this.#lose(reason)
    try {
      if (above > 0) await lease?.raiseFence(above)
      await lease?.release()
    } catch (error) {
      this.#parts.logger.debug({ error }, 'the lease could not be released and runs out by itself')
    }
  }

  async #renew(): Promise<void> {
    const { clock, store, logger } = this.#parts
    if (!store.ready()) return
    const lease = this.#candidacy()
    const sentAt = clock.monotonic()
    const fence = await lease.hold()
    if (lease !== this.#lease) return lease.release() // its candidacy ended meanwhile
    const outcome = this.#leadership.onAnswer(fence, { sentAt, now: clock.monotonic() })
    if (outcome === 'won') this.#win(fence)
    else if (outcome === 'lost') this.#lose('somebody else has the lease')
    else if (outcome === 'emptied') {
      logger.warn({ fence, epoch: this.epoch() }, 'redis was emptied, the epoch goes on')
      await lease.raiseFence(this.epoch())
    }
    if (fence === 0) this.#leaderAddress = addressOf(await lease.holder())
  }

  #candidacy(): NameLease {
    if (this.#lease !== undefined) return this.#lease
    const nonce = Buffer.from(this.#parts.random.bytes(NONCE_BYTES)).toString('hex')
    this.#owner = `${this.#settings.nodeId} ${this.#settings.address()} ${nonce}`
    this.#lease = new NameLease(this.#parts.store, { name: 'master', owner: this.#owner, ttlMs: LEASE_MS.ttl })
    return this.#lease
  }

  #win(epoch: number): void {
    this.#leaderAddress = undefined
    this.#reigning = { epoch, owner: this.#owner }
    this.#parts.logger.info({ ...this.#reigning }, 'this master leads')
    this.#parts.onWon(this.#reigning)
  }

  #watch(): void {
    if (this.#leadership.hasLapsed(this.#parts.clock.monotonic())) this.#lose('the lease was not renewed in time')
  }

  #lose(reason: string): void {
    const reigning = this.#reigning
    this.#lease = undefined
    this.#leadership = new Leadership()
    this.#reigning = undefined
    if (reigning === undefined) return
    this.#parts.logger.warn({ ...reigning, reason }, 'this master does not lead any more')
    this.#parts.onLost()
  }
}

/** The address in an owner's name; undefined when there is none. */
function addressOf(owner: string | undefined): string | undefined {
  return owner?.split(' ')[1]
}
