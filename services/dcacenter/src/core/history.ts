/** What a series reaches back to, ms. */
export const REACH_MS = 300_000
/** Points that are kept: enough for the reach at one each 0.9 s, the least time between two of them. */
export const POINTS_MAX = 340
/** Series that are kept: 32,768 of 2.7 kB are 89 MB. */
export const SERIES_MAX = 32_768

interface Series {
  readonly values: Float64Array
  lastRound: number
}

/**
 * The last rounds of every number of every key, as rings that turn together.
 *
 * ```
 *   times   [ 4 | 5 | 1 | 2 | 3 ]      one cursor for all; NaN where a series had no value in that round
 *   values  [ . | . | . | . | . ]      per key and field
 * ```
 * A series without a value in all rounds is forgotten; one too many is refused and counted.
 */
export class History {
  refused = 0
  readonly seriesMax: number
  readonly #times = new Float64Array(POINTS_MAX).fill(Number.NaN)
  readonly #keys = new Map<string, Map<string, Series>>()
  #size = 0
  #round = 0

  constructor(seriesMax = SERIES_MAX) {
    this.seriesMax = seriesMax
  }

  get size(): number {
    return this.#size
  }

  /** Begins a round: what is recorded from now on is of `at`, ms since the epoch. */
  begin(at: number): void {
    this.#round++
    const cursor = this.#round % POINTS_MAX
    this.#times[cursor] = at
    for (const [key, fields] of this.#keys) {
      for (const [field, series] of fields) {
        if (this.#round - series.lastRound >= POINTS_MAX) {
          fields.delete(field)
          this.#size--
        } else series.values[cursor] = Number.NaN
      }
      if (fields.size === 0) this.#keys.delete(key)
    }
  }

  /** Notes the numbers of a key for this round. */
  record(key: string, numbers: Readonly<Record<string, number>>): void {
    const fields = this.#keys.get(key) ?? new Map<string, Series>()
    this.#keys.set(key, fields)
    for (const field in numbers) {
      const series = fields.get(field) ?? this.#add(fields, field)
      if (series === undefined) continue
      series.values[this.#round % POINTS_MAX] = numbers[field] as number
      series.lastRound = this.#round
    }
  }

  /** Pairs of time and value, the oldest first; undefined when there is no such series. */
  read(key: string, field: string): [number, number][] | undefined {
    const series = this.#keys.get(key)?.get(field)
    if (series === undefined) return undefined
    const pairs: [number, number][] = []
    const oldest = (this.#times[this.#round % POINTS_MAX] as number) - REACH_MS
    for (let back = Math.min(this.#round, POINTS_MAX) - 1; back >= 0; back--) {
      const place = (this.#round - back) % POINTS_MAX
      const value = series.values[place] as number
      const at = this.#times[place] as number
      if (!Number.isNaN(value) && at > oldest) pairs.push([at, value])
    }
    return pairs
  }

  /** Every series that there is. */
  *names(): IterableIterator<[key: string, field: string]> {
    for (const [key, fields] of this.#keys) for (const field of fields.keys()) yield [key, field]
  }

  #add(fields: Map<string, Series>, field: string): Series | undefined {
    if (this.#size >= this.seriesMax) {
      this.refused++
      return undefined
    }
    const series = { values: new Float64Array(POINTS_MAX).fill(Number.NaN), lastRound: this.#round }
    fields.set(field, series)
    this.#size++
    return series
  }
}
