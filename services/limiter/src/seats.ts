/** Reservations: kept in the store, and for the hot path in a local set per activity that is loaded from it. */

import type { CatalogView } from '@bigtap/catalog'
import type { ActivityDoc } from '@bigtap/domain'
import { type Clock, type Logger, type Metrics, UidTable } from '@bigtap/kernel'
import type { Seats } from './pipeline.ts'

/** Where reservations are kept; the store's Reservations is one. */
export interface ReservationStore {
  /** Reserves; true the first time. */
  reserve(activityId: number, uid: number): Promise<boolean>
  count(activityId: number): Promise<number>
  /** All uids, in pages. */
  stream(activityId: number): AsyncIterable<readonly number[]>
}

/** Most seats of one activity that a process holds. */
export const SEATS_MAX = 20_000_000
/** Reservations under way to the store at a time; one more is told to come back. */
export const RESERVATIONS_IN_FLIGHT_MAX = 2_048

const SYNC_EVERY_MS = 1_000

interface SeatSet {
  readonly uids: UidTable
  count: number
  isLoaded: boolean
}

/**
 * Follows the activities that ask for a reservation: each second the count in the store is compared, and when it differs
 * the seats are read again and added. Seats are never taken back, so a set may be read while it is used.
 */
export class SeatKeeper implements Seats {
  readonly #parts: { catalog: CatalogView; store: ReservationStore; logger: Logger; clock: Clock; metrics: Metrics }
  readonly #sets = new Map<number, SeatSet>()
  #timer: NodeJS.Timeout | undefined
  #isSyncing = false
  #inFlight = 0

  constructor(parts: {
    catalog: CatalogView
    store: ReservationStore
    logger: Logger
    clock: Clock
    metrics: Metrics
  }) {
    this.#parts = parts
    const seats = () => [...this.#sets.values()].reduce((sum, set) => sum + set.uids.size, 0)
    parts.metrics.gauge('bigtap_limiter_seats_count', 'Reservations held in memory', seats)
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.sync(), SYNC_EVERY_MS)
    void this.sync()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  hasSeat(activityId: number, uid: number): boolean | undefined {
    const set = this.#sets.get(activityId)
    if (set === undefined) return undefined
    if (set.uids.get(uid) !== -1) return true
    return set.isLoaded ? false : undefined
  }

  countOf(activityId: number): number {
    return this.#sets.get(activityId)?.count ?? 0
  }

  /** Reserves in the store; `busy` when too many are under way. Rejects when the store does not answer. */
  async reserve(activityId: number, uid: number): Promise<'first' | 'again' | 'busy'> {
    if (this.#inFlight >= RESERVATIONS_IN_FLIGHT_MAX) return 'busy'
    this.#inFlight++
    try {
      const isFirst = await this.#parts.store.reserve(activityId, uid)
      this.#setOf(activityId).uids.set(uid, 0)
      return isFirst ? 'first' : 'again'
    } finally {
      this.#inFlight--
    }
  }

  /** One round over all activities that have reservations. */
  async sync(): Promise<void> {
    if (this.#isSyncing) return
    this.#isSyncing = true
    try {
      for (const activity of this.#parts.catalog.activities().values()) await this.#syncOne(activity)
      for (const id of this.#sets.keys()) if (!this.#isFollowed(this.#parts.catalog.activity(id))) this.#sets.delete(id)
    } catch (error) {
      this.#parts.logger.debug({ error }, 'reservations cannot be read, those held stay')
    } finally {
      this.#isSyncing = false
    }
  }

  async #syncOne(activity: ActivityDoc): Promise<void> {
    if (!this.#isFollowed(activity)) return
    const { store } = this.#parts
    const set = this.#setOf(activity.id)
    const count = await store.count(activity.id)
    // An emptied store has fewer than we hold: a seat that was given stays given.
    if (!set.isLoaded || count > set.uids.size) {
      for await (const page of store.stream(activity.id)) for (const uid of page) set.uids.set(uid, 0)
      set.isLoaded = true
    }
    set.count = Math.max(count, set.uids.size)
  }

  #isFollowed(activity: ActivityDoc | undefined): boolean {
    if (activity === undefined || activity.state === 'draft' || activity.state === 'archived') return false
    return activity.reservation.required || activity.reservation.closesAt > 0
  }

  #setOf(activityId: number): SeatSet {
    const set = this.#sets.get(activityId) ?? {
      uids: new UidTable({ entriesMax: SEATS_MAX }),
      count: 0,
      isLoaded: false,
    }
    this.#sets.set(activityId, set)
    return set
  }
}
