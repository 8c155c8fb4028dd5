import { assert } from '@bigtap/kernel'
import type { Link } from '@bigtap/transport'

const NONE = -1

/**
 * Asks that wait for a record to be written or re-read: fixed places, chained per record.
 *
 * ```
 *   heads: record ──► place ──next──► place ──► -1        one Map entry per waiting record, none per ask
 * ```
 */
export class WaitTable {
  readonly capacity: number
  readonly askId: Uint32Array
  readonly uid: Float64Array
  readonly sku: Uint16Array
  readonly quantity: Uint32Array
  readonly deadline: Float64Array
  readonly links: (Link | undefined)[]
  readonly #next: Int32Array
  readonly #heads = new Map<number, number>()
  #free = 0
  #size = 0

  constructor(capacity: number) {
    assert(capacity > 0 && capacity <= 0xffff_ffff, `wait table of ${capacity}`)
    this.capacity = capacity
    this.askId = new Uint32Array(capacity)
    this.uid = new Float64Array(capacity)
    this.sku = new Uint16Array(capacity)
    this.quantity = new Uint32Array(capacity)
    this.deadline = new Float64Array(capacity)
    this.links = new Array<Link | undefined>(capacity).fill(undefined)
    this.#next = Int32Array.from({ length: capacity }, (_, place) => (place + 1 < capacity ? place + 1 : NONE))
  }

  get size(): number {
    return this.#size
  }

  /** Takes a place for an ask that waits for `record`; -1 when all are taken. The caller fills its columns. */
  add(record: number): number {
    const place = this.#free
    if (place === NONE) return NONE
    this.#free = this.#next[place] as number
    this.#next[place] = this.#heads.get(record) ?? NONE
    this.#heads.set(record, place)
    this.#size++
    return place
  }

  /** Frees all that wait for a record, calling `visit` for each while its columns still stand. */
  release(record: number, visit: (place: number) => void): void {
    let place = this.#heads.get(record) ?? NONE
    this.#heads.delete(record)
    while (place !== NONE) {
      const next = this.#next[place] as number
      visit(place)
      this.#release(place)
      place = next
    }
  }

  /** Frees those that `isOver` picks, calling `visit` for each while its columns still stand. */
  drop(isOver: (place: number) => boolean, visit: (place: number) => void): void {
    for (const [record, head] of this.#heads) {
      let kept = NONE
      for (let place = head; place !== NONE; ) {
        const next = this.#next[place] as number
        if (!isOver(place)) {
          this.#next[place] = kept
          kept = place
        } else {
          visit(place)
          this.#release(place)
        }
        place = next
      }
      if (kept === NONE) this.#heads.delete(record)
      else this.#heads.set(record, kept)
    }
  }

  #release(place: number): void {
    this.links[place] = undefined
    this.#next[place] = this.#free
    this.#free = place
    this.#size--
  }
}
