import { assert } from './errors.ts'
import { NO_SLOT } from './slots.ts'

/**
 * A bounded queue that keeps the better: rank 0 is the best. It gives out the best rank first, and within a rank the
 * oldest; when it is full, the newest of the worst rank falls, which may be the one that just came. What waits are places
 * of a table beside it (SlotTable.indexOf), each at most once, so that one that is answered meanwhile leaves in one step.
 *
 * ```
 *   rank 0  a ⇄ d         shift ─► a d b c
 *   rank 1  b             push e of rank 0 when full ─► c falls
 *   rank 2  c             push f of rank 2 when full ─► f falls
 *   set     [1 1 1 0 …]   a bit per rank that has somebody: best and worst are found in three words for 96 ranks
 * ```
 *
 * Doubly linked lists in typed arrays: every step is O(1) but for the words, and allocates nothing.
 */
export class ShedQueue {
  readonly capacity: number
  readonly ranks: number
  readonly #next: Int32Array
  readonly #previous: Int32Array
  /** Rank of each place that waits, else NO_SLOT. */
  readonly #rank: Int16Array
  readonly #heads: Int32Array
  readonly #tails: Int32Array
  readonly #set: Int32Array
  #size = 0

  constructor({ capacity, ranks, places = capacity }: { capacity: number; ranks: number; places?: number }) {
    assert(Number.isInteger(ranks) && ranks > 0 && ranks <= 1_024, `shed queue with ${ranks} ranks`)
    assert(Number.isInteger(capacity) && capacity > 0, `shed queue of ${capacity}`)
    this.capacity = capacity
    this.ranks = ranks
    this.#next = new Int32Array(places).fill(NO_SLOT)
    this.#previous = new Int32Array(places).fill(NO_SLOT)
    this.#rank = new Int16Array(places).fill(NO_SLOT)
    this.#heads = new Int32Array(ranks).fill(NO_SLOT)
    this.#tails = new Int32Array(ranks).fill(NO_SLOT)
    this.#set = new Int32Array(Math.ceil(ranks / 32))
  }

  get size(): number {
    return this.#size
  }

  /** Takes a place in; returns the place that fell (for the caller to answer and to count), or NO_SLOT. */
  push(place: number, rank: number): number {
    assert(rank >= 0 && rank < this.ranks, 'a rank lies below the number of ranks')
    assert(this.#rank[place] === NO_SLOT, 'a place waits once')
    if (this.#size < this.capacity) {
      this.#append(place, rank)
      return NO_SLOT
    }
    const { worst } = this
    if (worst <= rank) return place
    const fallen = this.#tails[worst] as number
    this.remove(fallen)
    this.#append(place, rank)
    return fallen
  }

  /** Takes the oldest of the best rank, or NO_SLOT when nothing waits. */
  shift(): number {
    const { best } = this
    if (best === NO_SLOT) return NO_SLOT
    const place = this.#heads[best] as number
    this.remove(place)
    return place
  }

  /** Takes the newest of the worst rank, or NO_SLOT when nothing waits. */
  pop(): number {
    const { worst } = this
    if (worst === NO_SLOT) return NO_SLOT
    const place = this.#tails[worst] as number
    this.remove(place)
    return place
  }

  /** Takes one out of the middle; false when it does not wait. */
  remove(place: number): boolean {
    const rank = this.#rank[place] ?? NO_SLOT
    if (rank === NO_SLOT) return false
    const next = this.#next[place] as number
    const previous = this.#previous[place] as number
    if (previous === NO_SLOT) this.#heads[rank] = next
    else this.#next[previous] = next
    if (next === NO_SLOT) this.#tails[rank] = previous
    else this.#previous[next] = previous
    this.#rank[place] = NO_SLOT
    if (next === NO_SLOT && previous === NO_SLOT) this.#mark(rank, false)
    this.#size--
    return true
  }

  /** The best rank that waits, or NO_SLOT. */
  get best(): number {
    for (let word = 0; word < this.#set.length; word++) {
      const bits = this.#set[word] as number
      if (bits !== 0) return word * 32 + 31 - Math.clz32(bits & -bits)
    }
    return NO_SLOT
  }

  /** The worst rank that waits, or NO_SLOT. */
  get worst(): number {
    for (let word = this.#set.length - 1; word >= 0; word--) {
      const bits = this.#set[word] as number
      if (bits !== 0) return word * 32 + 31 - Math.clz32(bits)
    }
    return NO_SLOT
  }

  /** The place that has waited longest in a rank, or NO_SLOT. */
  oldestOf(rank: number): number {
    return this.#heads[rank] ?? NO_SLOT
  }

  #append(place: number, rank: number): void {
    const tail = this.#tails[rank] as number
    this.#rank[place] = rank
    this.#previous[place] = tail
    this.#next[place] = NO_SLOT
    this.#tails[rank] = place
    if (tail === NO_SLOT) {
      this.#heads[rank] = place
      this.#mark(rank, true)
    } else this.#next[tail] = place
    this.#size++
  }

  #mark(rank: number, isSet: boolean): void {
    const bit = 1 << (rank & 31)
    const bits = this.#set[rank >> 5] as number
    this.#set[rank >> 5] = isSet ? bits | bit : bits & ~bit
  }
}
