/** SKUs whose asks are counted one by one. */
export const COUNTED_SKUS_MAX = 4_096

/** Row of everything beyond; nobody is told of it. */
const BEYOND = COUNTED_SKUS_MAX

/**
 * Counts of each SKU as columns. The gate looks a row up once per view, so that an ask costs one addition.
 *
 * ```
 *   rows  "1:2" → 0, "1:3" → 1        asks [ 812 | 40 | … | beyond ]   shed [ 3 | 0 | … | beyond ]
 * ```
 */
export class SkuCounts {
  readonly asks = new Float64Array(COUNTED_SKUS_MAX + 1)
  readonly shed = new Float64Array(COUNTED_SKUS_MAX + 1)
  readonly #rows = new Map<string, number>()
  readonly #free: number[] = []

  /** The row of a SKU; one too many shares the row of all beyond. */
  rowOf(activityId: number, skuId: number): number {
    const key = `${activityId}:${skuId}`
    const known = this.#rows.get(key)
    if (known !== undefined) return known
    const row = this.#free.pop() ?? this.#rows.size
    if (row >= BEYOND) return BEYOND
    this.#rows.set(key, row)
    return row
  }

  /** An activity has left the catalog: its rows are for others. */
  forget(activityId: number): void {
    for (const [key, row] of this.#rows) {
      if (!key.startsWith(`${activityId}:`)) continue
      this.#rows.delete(key)
      this.#free.push(row)
      this.asks[row] = 0
      this.shed[row] = 0
    }
  }

  /** Calls back for every SKU that has a row. */
  forEach(visit: (activityId: number, skuId: number, row: number) => void): void {
    for (const [key, row] of this.#rows) {
      const colon = key.indexOf(':')
      visit(Number(key.slice(0, colon)), Number(key.slice(colon + 1)), row)
    }
  }

  /** All asks, also of what has no row of its own. */
  get asksTotal(): number {
    return this.asks.reduce((sum, count) => sum + count, 0)
  }
}
