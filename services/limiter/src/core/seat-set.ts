import { UidSet } from '@bigtap/kernel'

const PREFETCHED = 64

/** Where the log of an activity's reservations stands; the store's ReservationsHead is one. */
export interface SeatLogHead {
  readonly logId: string
  readonly generation: number
  readonly positions: number
  readonly count: number
}

/**
 * The seats of one activity as far as its log was read. Who is not found may only be refused when all of it was: until
 * then nothing is known of him.
 *
 * | the head says | the seats held | read from |
 * | --- | --- | --- |
 * | the same log | stay | where it was left |
 * | a later generation | are void: the operator has cleared them | the start |
 * | another log (Redis was restarted, emptied) | stay: a seat that was given stays given | the start |
 */
export class SeatSet {
  readonly #seatsMax: number
  #uids: UidSet
  #logId = ''
  #generation = 0
  #position = 0
  #count = 0
  #isLoaded = false
  #isOverfull = false

  constructor({ seatsMax }: { seatsMax: number }) {
    this.#seatsMax = seatsMax
    this.#uids = new UidSet({ entriesMax: seatsMax })
  }

  /** Seats held. */
  get size(): number {
    return this.#uids.size
  }

  /** Seats that there are, by the last head. */
  get count(): number {
    return Math.max(this.#count, this.#uids.size)
  }

  /** Where to read on. */
  get position(): number {
    return this.#position
  }

  /** Is everything known that the last head told of? */
  get isLoaded(): boolean {
    return this.#isLoaded && !this.#isOverfull
  }

  /** Did they not fit when last seen? */
  get isOverfull(): boolean {
    return this.#isOverfull
  }

  /** Is there a seat for this buyer? Undefined: not known yet. */
  has(uid: number): boolean | undefined {
    if (this.#uids.has(uid)) return true
    return this.isLoaded ? false : undefined
  }

  /** A reservation that the store has just confirmed. */
  add(uid: number): void {
    if (!this.#uids.add(uid)) this.#isOverfull = true
  }

  /** Follows a head; false: these seats do not fit in `room`, and are not to be read. */
  follow(head: SeatLogHead, room = this.#seatsMax): boolean {
    if (this.#logId !== '' && head.generation > this.#generation) this.#void()
    if (head.logId !== this.#logId || this.#isOverfull) this.#position = 0
    this.#logId = head.logId
    this.#generation = head.generation
    this.#count = head.count
    this.#isOverfull = this.count > room
    if (this.#isOverfull) this.#isLoaded = false
    else if (this.#position >= head.positions) this.#isLoaded = true
    return !this.#isOverfull
  }

  /** Room for what the last head told of, in small steps. */
  expect(): Iterable<void> {
    return this.#uids.expect(this.#count)
  }

  /** Takes entries of the log in, in order; a negative one is a seat that was taken back. */
  apply(entries: Float64Array, from: number, to: number): void {
    for (let index = from; index < to; index++) {
      if ((index - from) % PREFETCHED === 0) this.#uids.prefetch(entries, index, Math.min(index + PREFETCHED, to))
      const entry = entries[index] ?? 0
      if (entry < 0) this.#uids.delete(-entry)
      else if (!this.#uids.add(entry)) this.#isOverfull = true
    }
    this.#position += to - from
  }

  #void(): void {
    this.#uids = new UidSet({ entriesMax: this.#seatsMax })
    this.#isLoaded = false
    this.#isOverfull = false
  }
}
