import { TIER_COUNT, type Tier } from '@bigtap/domain'
import { UidSet } from '@bigtap/kernel'

/**
 * Which tier an offline profile gives to whom: one exact set of uids per tier, 7.5 to 9.4 bytes a uid. Tier 0 is not kept:
 * it is what is said of who is not known. A uid that was named twice has the worse tier.
 */
export class ProfileTable {
  /** The sets of tier 1, 2 … */
  readonly #sets: readonly UidSet[]
  readonly #uidsMax: number
  #size = 0

  constructor({ uidsMax }: { uidsMax: number }) {
    this.#uidsMax = uidsMax
    this.#sets = Array.from({ length: TIER_COUNT - 1 }, () => new UidSet({ entriesMax: uidsMax }))
  }

  /** Uids of tier 1 and worse. */
  get size(): number {
    return this.#size
  }

  get bytes(): number {
    return this.#sets.reduce((sum, set) => sum + set.bytes, 0)
  }

  /** Notes a uid; false when there is no room for it. */
  add(uid: number, tier: number): boolean {
    const set = this.#sets[tier - 1]
    if (set === undefined) return true
    if (this.#size >= this.#uidsMax) return set.has(uid)
    const before = set.size
    set.add(uid)
    this.#size += set.size - before
    return true
  }

  /** The tier of a uid, 0 when it is not known. Five look-ups at most, none for a tier that has nobody. */
  tierOf(uid: number): Tier {
    for (let index = this.#sets.length - 1; index >= 0; index--) {
      const set = this.#sets[index]
      if (set !== undefined && set.size > 0 && set.has(uid)) return (index + 1) as Tier
    }
    return 0
  }
}
