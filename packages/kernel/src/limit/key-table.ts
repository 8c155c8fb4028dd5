import { NO_PLACE, RecencyList } from '../recency-list.ts'

const PLACES_AT_START = 64
/** So many keys a table may have though the room is used up: a flood at one limit must not disarm the others. */
export const KEYS_APART = 1_024

/** Room for keys that several tables share, beside the `KEYS_APART` that each has for itself. */
export class KeyRoom {
  readonly keysMax: number
  #used = 0

  constructor(keysMax: number) {
    this.keysMax = keysMax
  }

  get used(): number {
    return this.#used
  }

  /** Takes the place of one key; false when there is none. */
  take(): boolean {
    if (this.#used >= this.keysMax) return false
    this.#used++
    return true
  }

  giveBack(keys: number): void {
    this.#used -= keys
  }
}

/**
 * Remembers at most `keysMax` keys, as far as the shared room goes, and gives each a place (0, 1, 2 …) for columns that
 * run beside it. A full table forgets the key that was used longest ago (RecencyList) and gives its place to the new one.
 *
 * A Map alone, where a used key is deleted and set again, keeps the same order, but finds its oldest key by walking over
 * all that were deleted: 18 us for each sprayed key of 200,000, here 1 us.
 */
export class KeyTable {
  readonly keysMax: number
  evicted = 0
  readonly #room: KeyRoom | undefined
  #roomTaken = 0
  readonly #places = new Map<number | string, number>()
  readonly #keys: (number | string)[] = []
  readonly #recency: RecencyList

  constructor(keysMax: number, room?: KeyRoom) {
    this.keysMax = keysMax
    this.#room = room
    this.#recency = new RecencyList(Math.min(PLACES_AT_START, keysMax))
  }

  get size(): number {
    return this.#keys.length
  }

  /** How many places there are now; columns beside the table need as many. */
  get places(): number {
    return this.#recency.places
  }

  /** The place of a key, which becomes the newest; NO_PLACE for a key that is not remembered. */
  use(key: number | string): number {
    const place = this.#places.get(key)
    if (place === undefined) return NO_PLACE
    this.#recency.use(place)
    return place
  }

  /** Gives a key that is not remembered a place; what stands in the columns there belongs to nobody any more. */
  add(key: number | string): number {
    const place = this.#hasRoom() ? this.#openPlace() : this.#evict()
    this.#keys[place] = key
    this.#places.set(key, place)
    this.#recency.linkNewest(place)
    return place
  }

  /** Gives the shared room back; the table is not to be used any more. */
  release(): void {
    this.#room?.giveBack(this.#roomTaken)
    this.#roomTaken = 0
  }

  #hasRoom(): boolean {
    if (this.size >= this.keysMax) return false
    if (this.#room === undefined || this.size < KEYS_APART) return true
    if (!this.#room.take()) return false
    this.#roomTaken++
    return true
  }

  #openPlace(): number {
    const place = this.size
    if (place === this.places) this.#recency.grow(Math.min(this.places * 2, this.keysMax))
    return place
  }

  #evict(): number {
    const place = this.#recency.oldest
    this.#recency.unlink(place)
    this.#places.delete(this.#keys[place] ?? 0)
    this.evicted++
    return place
  }
}
