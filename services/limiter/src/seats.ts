/** Reservations: kept in the store, and for the hot path in a local set per activity that follows the store's log. */

import { setImmediate } from 'node:timers/promises'
import type { CatalogView } from '@bigtap/catalog'
import type { ActivityDoc } from '@bigtap/domain'
import { hasCode, type Logger, type Metrics } from '@bigtap/kernel'
import { type SeatLogHead, SeatSet } from './core/seat-set.ts'
import type { Seats } from './pipeline.ts'

/** Where reservations are kept; the store's Reservations is one. */
export interface ReservationStore {
  /** Reserves; true the first time. Throws RESERVATIONS_FULL. */
  reserve(activityId: number, uid: number): Promise<boolean>
  head(activityId: number): Promise<SeatLogHead>
  /** The log from a position on, in pages; it may end before the head. */
  read(activityId: number, head: SeatLogHead, from: number): AsyncIterable<Float64Array>
}

/** What became of a reservation. */
export type Reserved = 'first' | 'again' | 'full' | 'busy'

/** What follows the reservations works with. */
export interface SeatKeeperParts {
  readonly catalog: CatalogView
  readonly store: ReservationStore
  readonly logger: Logger
  readonly metrics: Metrics
  readonly seatsMax?: number
}

/** Most seats that a process holds, over all activities: 160 MB. */
export const SEATS_MAX = 20_000_000
/** Reservations under way to the store at a time; one more is told to come back. */
export const RESERVATIONS_IN_FLIGHT_MAX = 2_048

const SYNC_EVERY_MS = 500
/** Entries that are taken in before others have their turn: 0.5 ms; bench reservations. */
const SLICE = 2_048
/** From so many new ones on, room for them is made before. */
const EXPECTED_MIN = 65_536

/**
 * Follows the activities that ask for a reservation: twice a second the log in the store is read on from where it was
 * left. A fault loses nothing; the next round goes on at the same position.
 */
export class SeatKeeper implements Seats {
  readonly #parts: SeatKeeperParts
  readonly #seatsMax: number
  readonly #sets = new Map<number, SeatSet>()
  readonly #syncing = new Set<number>()
  #timer: NodeJS.Timeout | undefined
  #inFlight = 0

  constructor(parts: SeatKeeperParts) {
    this.#parts = parts
    this.#seatsMax = parts.seatsMax ?? SEATS_MAX
    const unloaded = () => [...this.#sets.values()].filter((seats) => !seats.isLoaded).length
    parts.metrics.gauge('bigtap_limiter_seats_count', 'Reservations held in memory', () => this.#held())
    parts.metrics.gauge(
      'bigtap_limiter_seats_unloaded_count',
      'Activities whose reservations are not all in memory',
      unloaded,
    )
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.sync(), SYNC_EVERY_MS)
    void this.sync()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#sets.clear()
  }

  hasSeat(activityId: number, uid: number): boolean | undefined {
    return this.#sets.get(activityId)?.has(uid)
  }

  countOf(activityId: number): number {
    return this.#sets.get(activityId)?.count ?? 0
  }

  /** Reserves in the store; `busy` when too many are under way. Rejects when the store does not answer. */
  async reserve(activityId: number, uid: number): Promise<Reserved> {
    if (this.#inFlight >= RESERVATIONS_IN_FLIGHT_MAX) return 'busy'
    this.#inFlight++
    try {
      const isFirst = await this.#parts.store.reserve(activityId, uid)
      this.#sets.get(activityId)?.add(uid)
      return isFirst ? 'first' : 'again'
    } catch (error) {
      if (hasCode(error, 'RESERVATIONS_FULL')) return 'full'
      throw error
    } finally {
      this.#inFlight--
    }
  }

  /** One round over all activities that have reservations; each goes on by itself, one that loads holds up no other. */
  async sync(): Promise<void> {
    const { catalog } = this.#parts
    for (const id of this.#sets.keys()) if (!isFollowed(catalog.activity(id))) this.#sets.delete(id)
    const followed = [...catalog.activities().values()].filter(isFollowed)
    await Promise.all(followed.map(({ id }) => this.#syncOne(id)))
  }

  async #syncOne(activityId: number): Promise<void> {
    if (this.#syncing.has(activityId)) return
    this.#syncing.add(activityId)
    try {
      await this.#readOn(activityId)
    } catch (error) {
      this.#parts.logger.debug({ activityId, error }, 'reservations cannot be read, those held stay')
    } finally {
      this.#syncing.delete(activityId)
    }
  }

  async #readOn(activityId: number): Promise<void> {
    const { logger, store } = this.#parts
    const seats = this.#setOf(activityId)
    const { isLoaded, isOverfull } = seats
    const head = await store.head(activityId)
    const room = this.#seatsMax - (this.#held() - seats.size)
    if (!seats.follow(head, room)) {
      const facts = { activityId, count: head.count, room }
      if (!isOverfull) logger.error(facts, 'reservations do not fit in memory, who is not known gets 503')
      return
    }
    await this.#load(activityId, seats, head)
    if (seats.position >= head.positions) seats.follow(head, room)
    if (seats.isLoaded && !isLoaded) logger.info({ activityId, count: seats.size }, 'reservations are loaded')
  }

  /** Until the head, or until nobody follows the activity any more. */
  async #load(activityId: number, seats: SeatSet, head: SeatLogHead): Promise<void> {
    const isDropped = () => this.#sets.get(activityId) !== seats
    if (head.positions - seats.position >= EXPECTED_MIN)
      for (const _ of seats.expect()) {
        await setImmediate()
        if (isDropped()) return
      }
    for await (const entries of this.#parts.store.read(activityId, head, seats.position))
      for (let from = 0; from < entries.length; from += SLICE) {
        if (isDropped()) return
        seats.apply(entries, from, Math.min(from + SLICE, entries.length))
        await setImmediate()
      }
  }

  #held(): number {
    let held = 0
    for (const seats of this.#sets.values()) held += seats.size
    return held
  }

  #setOf(activityId: number): SeatSet {
    const seats = this.#sets.get(activityId) ?? new SeatSet({ seatsMax: this.#seatsMax })
    this.#sets.set(activityId, seats)
    return seats
  }
}

function isFollowed(activity: ActivityDoc | undefined): boolean {
  if (activity === undefined || activity.state === 'draft' || activity.state === 'archived') return false
  return activity.reservation.required || activity.reservation.closesAt > 0
}
