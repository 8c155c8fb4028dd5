import { mix, NO_PLACE, RecencyList } from '@bigtap/kernel'
import { DoorSketch } from './door-sketch.ts'

/** Key of a place that nobody has. */
const NOBODY = -1
/** Who was quiet for so long has empty windows: its place is free for anybody. */
const QUIET_MS = 60_000
/** So many times a stranger must knock before somebody who is not quiet loses the place. */
const KNOCKS_TO_ENTER = 8
const DOOR_WIDTH_MIN = 1_024
/** 2^17 cells in each of 4 rows, 512 KiB: a spray of 260,000 keys between two halvings. */
const DOOR_WIDTH_MAX = 131_072
const HIGH = 2 ** 32

/**
 * Gives each of at most `places` subjects a place (0, 1, 2 …) for the columns that run beside it. When it is full, the one
 * that was quiet for longest goes; but one that asked within the last minute gives way only to a stranger who has knocked
 * eight times (count-min sketch). Least recently used alone would let sprayed keys wash out those who matter: 10 million
 * keys that come once each are turned away at the door, and a heavy one is let in.
 *
 * ```
 *   key ──hash──► buckets [ 7 ][ - ][ 2 ] … open addressing, holds places     no object and no garbage per look-up
 *                            place ─► keys, lastAt, RecencyList
 * ```
 */
export class SubjectTable {
  readonly places: number
  /** Key at each place. */
  readonly keys: Float64Array
  /** When each place was used last, ms since the epoch. */
  readonly lastAt: Float64Array
  /** Had the place that `use` gave last no such subject before? Then its columns must be cleared. */
  isFresh = false
  size = 0
  evicted = 0
  /** Rows that were not counted because their key was a stranger at a full table. */
  turnedAway = 0
  readonly #seed: number
  readonly #door: DoorSketch
  readonly #buckets: Int32Array
  readonly #mask: number
  readonly #recency: RecencyList

  constructor(places: number, seed: number) {
    this.places = places
    this.#seed = seed
    this.keys = new Float64Array(places).fill(NOBODY)
    this.lastAt = new Float64Array(places)
    const bucketCount = 2 ** Math.ceil(Math.log2(places * 2))
    this.#buckets = new Int32Array(bucketCount).fill(NO_PLACE)
    this.#mask = bucketCount - 1
    this.#recency = new RecencyList(places)
    this.#door = new DoorSketch(Math.min(DOOR_WIDTH_MAX, Math.max(DOOR_WIDTH_MIN, bucketCount)))
  }

  get bytes(): number {
    const columns = [this.keys, this.lastAt, this.#buckets]
    return columns.reduce((sum, one) => sum + one.byteLength, this.#door.bytes + this.#recency.bytes)
  }

  /** Hash of a key (a whole number up to 2^53 - 1), seeded. */
  hash(key: number): number {
    return mix(mix((key >>> 0) ^ this.#seed) ^ Math.imul(Math.floor(key / HIGH), 0x9e3779b1))
  }

  /** The place of a key; NO_PLACE for one that is not here. Changes nothing. */
  find(key: number): number {
    for (let bucket = this.hash(key) & this.#mask; ; bucket = (bucket + 1) & this.#mask) {
      const place = this.#buckets[bucket] as number
      if (place === NO_PLACE || this.keys[place] === key) return place
    }
  }

  /** The place of a key that asks at `at`, with a new place if it may have one; NO_PLACE when it is turned away. */
  use(key: number, at: number): number {
    const known = this.find(key)
    this.isFresh = known === NO_PLACE
    const place = known === NO_PLACE ? this.#enter(key, at) : known
    if (place === NO_PLACE) return place
    if (at > (this.lastAt[place] as number)) this.lastAt[place] = at
    if (known === NO_PLACE) this.#recency.linkNewest(place)
    else this.#recency.use(place)
    return place
  }

  /** Forgets a key; its place is the next to be given away. */
  remove(key: number): boolean {
    const place = this.find(key)
    if (place === NO_PLACE) return false
    this.#drop(place)
    this.#recency.unlink(place)
    this.#recency.linkOldest(place)
    return true
  }

  #enter(key: number, at: number): number {
    const place = this.size < this.places ? this.size++ : this.#evict(key, at)
    if (place === NO_PLACE) return place
    this.keys[place] = key
    this.lastAt[place] = at
    let bucket = this.hash(key) & this.#mask
    while (this.#buckets[bucket] !== NO_PLACE) bucket = (bucket + 1) & this.#mask
    this.#buckets[bucket] = place
    return place
  }

  #evict(key: number, at: number): number {
    const place = this.#recency.oldest
    const isQuiet = (this.lastAt[place] as number) < at - QUIET_MS
    if (!isQuiet && this.keys[place] !== NOBODY && this.#door.knock(this.hash(key)) < KNOCKS_TO_ENTER) {
      this.turnedAway++
      return NO_PLACE
    }
    if (this.keys[place] !== NOBODY) {
      this.#drop(place)
      this.evicted++
    }
    this.#recency.unlink(place)
    return place
  }

  /** Takes a place out of the buckets; those behind it in the same run move up (Knuth, 6.4, algorithm R). */
  #drop(place: number): void {
    let hole = this.hash(this.keys[place] as number) & this.#mask
    while (this.#buckets[hole] !== place) hole = (hole + 1) & this.#mask
    for (let bucket = (hole + 1) & this.#mask; ; bucket = (bucket + 1) & this.#mask) {
      const other = this.#buckets[bucket] as number
      if (other === NO_PLACE) break
      const home = this.hash(this.keys[other] as number) & this.#mask
      if (((bucket - home) & this.#mask) >= ((bucket - hole) & this.#mask)) {
        this.#buckets[hole] = other
        hole = bucket
      }
    }
    this.#buckets[hole] = NO_PLACE
    this.keys[place] = NOBODY
    this.lastAt[place] = 0
  }
}
