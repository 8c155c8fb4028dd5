/** Commands that wait for the slowest node: one list for all nodes, each with a cursor of its own. Pure. */

/**
 * 8 KiB, some 50 statuses, a quarter of a millisecond of work: so soon can something urgent follow. Urgent to 100 fronts in
 * one process during a broadcast, p99 on a busy machine: 374 ms with 256 KiB, 166 ms so (bench `broadcast`).
 */
export const FRAME_BYTES = 8_192

/** One command, encoded once; its bytes are shared by all nodes. */
export interface Entry {
  readonly sequence: number
  readonly revision: number
  /** What a newer command must share to supersede this one. */
  readonly slot: string
  readonly isUrgent: boolean
  /** Only for these; none: for all. */
  readonly nodes: readonly string[]
  readonly bytes: Uint8Array
}

/** An entry and its place in the lane, which grows with every entry and is never given twice. */
export interface Placed {
  readonly place: number
  readonly entry: Entry
}

/**
 * ```
 *   place  7   8   9  10  11  12
 *         [a] [b]  ×  [c]  ×  [d]        × was superseded: its key is further right
 *              ▲            ▲
 *           node 1       node 2          a cursor is the last place that a node was sent
 * ```
 * Nothing is copied per node, so that a slow one costs a cursor, and 100 nodes × 400 keys are 400 entries.
 */
export class Lane {
  readonly #at: number[] = []
  readonly #entries: (Entry | undefined)[] = []
  #last = 0
  #size = 0
  #bytes = 0

  /** Entries that wait. */
  get size(): number {
    return this.#size
  }

  get bytes(): number {
    return this.#bytes
  }

  /** The newest place that was given. */
  get last(): number {
    return this.#last
  }

  /** Appends an entry at a place, which must be beyond the last one. */
  push(entry: Entry, place = this.#last + 1): number {
    this.#last = place
    this.#at.push(place)
    this.#entries.push(entry)
    this.#size++
    this.#bytes += entry.bytes.length
    return place
  }

  has(place: number): boolean {
    const index = this.#indexAfter(place - 1)
    return this.#at[index] === place && this.#entries[index] !== undefined
  }

  /** Takes an entry out. Was it there? */
  remove(place: number): boolean {
    const index = this.#indexAfter(place - 1)
    const entry = this.#entries[index]
    if (entry === undefined || this.#at[index] !== place) return false
    this.#entries[index] = undefined
    this.#size--
    this.#bytes -= entry.bytes.length
    return true
  }

  /** Entries beyond a cursor, in order, that are for `nodeId`: as many as fit in one frame, at least one. */
  after(cursor: number, nodeId: string): { placed: readonly Placed[]; isAll: boolean } {
    const placed: Placed[] = []
    let bytes = 0
    for (let index = this.#indexAfter(cursor); index < this.#entries.length; index++) {
      const entry = this.#entries[index]
      if (entry === undefined || !isFor(entry, nodeId)) continue
      bytes += entry.bytes.length
      if (placed.length > 0 && bytes > FRAME_BYTES) return { placed, isAll: false }
      placed.push({ place: this.#at[index] as number, entry })
    }
    return { placed, isAll: true }
  }

  /** The oldest entry. */
  first(): Placed | undefined {
    const index = this.#entries.findIndex((entry) => entry !== undefined)
    const entry = this.#entries[index]
    return entry === undefined ? undefined : { place: this.#at[index] as number, entry }
  }

  /** Forgets what stands at or before a place; returns what was there. */
  prune(place: number): Entry[] {
    const end = this.#indexAfter(place)
    if (end === 0) return []
    this.#at.splice(0, end)
    const pruned = this.#entries.splice(0, end).filter((entry) => entry !== undefined)
    this.#size -= pruned.length
    for (const { bytes } of pruned) this.#bytes -= bytes.length
    return pruned
  }

  /** Index of the first place beyond `place`. */
  #indexAfter(place: number): number {
    let low = 0
    let high = this.#at.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#at[middle] as number) > place) high = middle
      else low = middle + 1
    }
    return low
  }
}

function isFor({ nodes }: Entry, nodeId: string): boolean {
  return nodes.length === 0 || nodes.includes(nodeId)
}
