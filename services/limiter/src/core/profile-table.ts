import { TIER_COUNT, type Tier } from '@bigtap/domain'
import { hashUid, UidSet } from '@bigtap/kernel'

/** Of each uid there is room for: 7 % of those who are not known are looked for in vain. */
const MARK_BITS = 13

/**
 * Which tier an offline profile gives to whom: one exact set of uids per tier, 7.5 to 9.4 bytes a uid. Tier 0 is not kept:
 * it is what is said of who is not known. A uid that was named twice has the worse tier.
 *
 * ```
 *   uid ─► marks[hash] ─ 0 ─► not known: 14 of 15 who are not (one read of memory, where five sets take twelve)
 *                      └ 1 ─► sets of tier 5, 4 … 1: the first that has it
 * ```
 */
export class ProfileTable {
  /** The sets of tier 1, 2 … */
  readonly #sets: readonly UidSet[]
  readonly #uidsMax: number
  readonly #marks: Uint32Array
  readonly #mask: number
  #size = 0

  constructor({ uidsMax }: { uidsMax: number }) {
    this.#uidsMax = uidsMax
    const bits = 2 ** Math.max(5, Math.min(31, Math.ceil(Math.log2(uidsMax * MARK_BITS))))
    this.#marks = new Uint32Array(bits / 32)
    this.#mask = bits - 1
    this.#sets = Array.from({ length: TIER_COUNT - 1 }, () => new UidSet({ entriesMax: uidsMax }))
  }

  /** Uids of tier 1 and worse. */
  get size(): number {
    return this.#size
  }

  get bytes(): number {
    return this.#sets.reduce((sum, set) => sum + set.bytes, this.#size === 0 ? 0 : this.#marks.byteLength)
  }

  /** Notes a uid; false when there is no room for it. */
  add(uid: number, tier: number): boolean {
    const set = this.#sets[tier - 1]
    if (set === undefined) return true
    if (this.#size >= this.#uidsMax) return set.has(uid)
    const before = set.size
    set.add(uid)
    const bit = hashUid(uid) & this.#mask
    this.#marks[bit >>> 5] = (this.#marks[bit >>> 5] as number) | (1 << (bit & 31))
    this.#size += set.size - before
    return true
  }

  /** The tier of a uid, 0 when it is not known. */
  tierOf(uid: number): Tier {
    const bit = hashUid(uid) & this.#mask
    if (((this.#marks[bit >>> 5] as number) & (1 << (bit & 31))) === 0) return 0
    for (let index = this.#sets.length - 1; index >= 0; index--) {
      const set = this.#sets[index]
      if (set !== undefined && set.size > 0 && set.has(uid)) return (index + 1) as Tier
    }
    return 0
  }
}
