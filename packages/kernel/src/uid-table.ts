import { assert } from './errors.ts'
import { hashUid } from './hash.ts'

const LOAD_MAX = 0.6
const VALUE_MAX = 0x7fff_ffff

/**
 * Map from uid to a value of 31 bits, open addressing with linear probing over typed arrays; a uid of 0 marks an empty
 * place. A lookup allocates nothing. It doubles up to `entriesMax`, then refuses. An entry that is deleted leaves no mark:
 * those behind it that would no longer be found move up.
 *
 * ```
 *   uids    [ 0 | 71 | 9 |  0 | 12 ]      hash(9) points at 71's place, so 9 lies behind it
 *   values  [ - |  4 | 1 |  - |  7 ]
 * ```
 */
export class UidTable {
  readonly entriesMax: number
  #uids: Float64Array
  #values: Int32Array
  #mask: number
  #size = 0

  constructor({ entriesMax, entriesAtStart = 1024 }: { entriesMax: number; entriesAtStart?: number }) {
    assert(entriesMax > 0, `table of ${entriesMax} entries`)
    this.entriesMax = entriesMax
    const places = 2 ** Math.ceil(Math.log2(Math.min(entriesAtStart, entriesMax) / LOAD_MAX + 1))
    this.#uids = new Float64Array(places)
    this.#values = new Int32Array(places)
    this.#mask = places - 1
  }

  get size(): number {
    return this.#size
  }

  /** The value of a uid, or -1. */
  get(uid: number): number {
    if (!(uid >= 1)) return -1 // 0 marks an empty place, so it would be found in one
    for (let place = hashUid(uid) & this.#mask; ; place = (place + 1) & this.#mask) {
      const found = this.#uids[place]
      if (found === uid) return this.#values[place] ?? -1
      if (found === 0) return -1
    }
  }

  /** Sets the value (>= 0) of a uid (>= 1); false when the table is full. */
  set(uid: number, value: number): boolean {
    assert(uid >= 1, 'a uid is at least 1')
    assert(value >= 0 && value <= VALUE_MAX, 'the value of a uid is from 0 to 2^31 - 1')
    let place = this.#placeOf(uid)
    if (this.#uids[place] === 0) {
      if (this.#size >= this.entriesMax) return false
      if (this.#size >= (this.#mask + 1) * LOAD_MAX) {
        this.#grow()
        place = this.#placeOf(uid)
      }
      this.#size++
    }
    this.#uids[place] = uid
    this.#values[place] = value
    return true
  }

  /** Forgets one entry; false when there is none. */
  delete(uid: number): boolean {
    if (!(uid >= 1)) return false
    let hole = this.#placeOf(uid)
    if (this.#uids[hole] === 0) return false
    this.#size--
    for (let place = (hole + 1) & this.#mask; ; place = (place + 1) & this.#mask) {
      const other = this.#uids[place] ?? 0
      if (other === 0) break
      // How far the other lies from where it belongs: at least as far as the hole, and it may fill it.
      const away = (place - (hashUid(other) & this.#mask)) & this.#mask
      if (away < ((place - hole) & this.#mask)) continue
      this.#uids[hole] = other
      this.#values[hole] = this.#values[place] ?? 0
      hole = place
    }
    this.#uids[hole] = 0
    return true
  }

  /** Forgets everything. */
  clear(): void {
    this.#uids.fill(0)
    this.#size = 0
  }

  #placeOf(uid: number): number {
    let place = hashUid(uid) & this.#mask
    while (this.#uids[place] !== 0 && this.#uids[place] !== uid) place = (place + 1) & this.#mask
    return place
  }

  #grow(): void {
    const uids = this.#uids
    const values = this.#values
    this.#uids = new Float64Array(uids.length * 2)
    this.#values = new Int32Array(uids.length * 2)
    this.#mask = this.#uids.length - 1
    for (let old = 0; old < uids.length; old++) {
      const uid = uids[old] ?? 0
      if (uid === 0) continue
      const place = this.#placeOf(uid)
      this.#uids[place] = uid
      this.#values[place] = values[old] ?? 0
    }
  }
}
