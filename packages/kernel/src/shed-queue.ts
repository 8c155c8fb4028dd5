import { assert } from './errors.ts'
import { Ring } from './ring.ts'

/**
 * A bounded queue that keeps the better: rank 0 is the best. It gives out the best rank first, and within a rank the
 * oldest; when it is full, the newest of the worst rank falls, which may be the item that just came.
 *
 * ```
 *   rank 0  [a][d]        shift ─► a d b c
 *   rank 1  [b]           push e of rank 0 when full ─► c falls
 *   rank 2  [c]           push f of rank 2 when full ─► f falls
 * ```
 */
export class ShedQueue<T> {
  readonly capacity: number
  readonly #ranks: readonly Ring<T>[]
  #size = 0

  constructor({ capacity, ranks }: { capacity: number; ranks: number }) {
    assert(Number.isInteger(ranks) && ranks > 0, `shed queue with ${ranks} ranks`)
    this.capacity = capacity
    this.#ranks = Array.from({ length: ranks }, () => new Ring<T>(capacity))
  }

  get size(): number {
    return this.#size
  }

  /** Takes an item in; returns what fell (for the caller to answer and to count), or undefined. */
  push(item: T, rank: number): T | undefined {
    const ring = this.#ranks[rank]
    assert(ring !== undefined, 'a rank lies below the number of ranks')
    if (this.#size < this.capacity) {
      this.#size++
      ring.push(item)
      return undefined
    }
    const worst = this.#worstWaiting()
    if (worst <= rank) return item
    const fallen = this.#ranks[worst]?.pop()
    ring.push(item)
    return fallen
  }

  /** Takes the oldest of the best rank, or undefined when nothing waits. */
  shift(): T | undefined {
    for (const ring of this.#ranks) {
      if (ring.size === 0) continue
      this.#size--
      return ring.shift()
    }
    return undefined
  }

  #worstWaiting(): number {
    let rank = this.#ranks.length - 1
    while (this.#ranks[rank]?.size === 0) rank--
    return rank
  }
}
