import { UidTable } from '@bigtap/kernel'

/** No record. */
export const NO_RECORD = -1

/**
 * Life of a grant, as Middle knows it.
 *
 * ```
 *   free ──decided──► granting ──written──► outstanding ──re-read──► bought
 *     ▲                  │ │ no answer           │ ▲                   │
 *     │  refused         │ └────► doubt ─────────┘ │ found by a replay │
 *     └──────────────────┴──────────┴──────────────┴───────────────────┘   ran out, cancelled, not found: free again
 * ```
 * Only what was written is answered, and what may have been written is neither granted again nor refused.
 */
export const RECORD = { free: 0, granting: 1, doubt: 2, outstanding: 3, bought: 4 } as const

/**
 * Where a buyer stands in the line of the record's SKU: `joining` until Redis has written it, `waiting` with a place then,
 * `drawn` while the draw collects and the place is not known.
 */
export const LINE = { none: 0, joining: 1, waiting: 2, drawn: 3 } as const

/**
 * Purchase records as columns, one per grant, chained per buyer. They double up to `recordsMax`, then refuse. A freed
 * record stays in its buyer's chain and serves that buyer's next grant; one that is forgotten serves anybody's.
 *
 * ```
 *   uid ──UidTable──► record ──next──► record ──next──► -1
 *   blank ──────────► record ──next──► -1                      forgotten ones
 * ```
 */
export class BuyerRecords {
  readonly recordsMax: number
  uid = new Float64Array(1024)
  sku = new Uint16Array(1024)
  quantity = new Int32Array(1024)
  state = new Uint8Array(1024)
  isReading = new Uint8Array(1024)
  expiresAt = new Float64Array(1024)
  readAt = new Float64Array(1024)
  /** One of LINE, and the place in the line; 0 is whose turn it is. */
  line = new Uint8Array(1024)
  place = new Float64Array(1024)
  /** Four words of the token id per record. */
  token = new Uint32Array(4 * 1024)
  next = new Int32Array(1024)
  readonly #heads: UidTable
  #blank = NO_RECORD
  #size = 0
  #used = 0

  constructor(recordsMax: number) {
    this.recordsMax = recordsMax
    this.#heads = new UidTable({ entriesMax: recordsMax })
  }

  /** Records are numbered below this; those that were forgotten have no uid. */
  get size(): number {
    return this.#size
  }

  /** Records that belong to a buyer. */
  get used(): number {
    return this.#used
  }

  /** The buyer's newest record, or -1. */
  first(uid: number): number {
    return this.#heads.get(uid)
  }

  /** A new record of a buyer, or -1 when the table is full. */
  add(uid: number, sku: number): number {
    if (this.#used >= this.recordsMax) return NO_RECORD
    if (this.#blank === NO_RECORD && this.#size === this.uid.length) this.#grow()
    const record = this.#blank === NO_RECORD ? this.#size++ : this.#blank
    if (record === this.#blank) this.#blank = this.next[record] as number
    this.next[record] = this.#heads.get(uid)
    this.#heads.set(uid, record)
    this.#used++
    this.uid[record] = uid
    this.sku[record] = sku
    this.state[record] = RECORD.free
    this.isReading[record] = 0
    this.readAt[record] = 0
    this.line[record] = LINE.none
    this.place[record] = 0
    return record
  }

  /** The record of a token in a buyer's chain, or -1. */
  findToken(uid: number, tokenId: string): number {
    let record = this.first(uid)
    while (record !== NO_RECORD && this.tokenId(record) !== tokenId) record = this.next[record] as number
    return record
  }

  /** The token id, 32 lower hex digits. */
  tokenId(record: number): string {
    let text = ''
    for (let word = 0; word < 4; word++) text += (this.token[record * 4 + word] as number).toString(16).padStart(8, '0')
    return text
  }

  setTokenId(record: number, tokenId: string): void {
    for (let word = 0; word < 4; word++)
      this.token[record * 4 + word] = Number.parseInt(tokenId.slice(word * 8, word * 8 + 8), 16)
  }

  /** Forgets a record: its number may become another buyer's, so nobody may hold it. */
  forget(record: number): void {
    const uid = this.uid[record] as number
    const after = this.next[record] as number
    let before = this.#heads.get(uid)
    if (before !== record) {
      while (this.next[before] !== record) before = this.next[before] as number
      this.next[before] = after
    } else if (after === NO_RECORD) this.#heads.delete(uid)
    else this.#heads.set(uid, after)
    this.uid[record] = 0
    this.state[record] = RECORD.free
    this.next[record] = this.#blank
    this.#blank = record
    this.#used--
  }

  #grow(): void {
    const length = Math.min(this.uid.length * 2, Math.max(this.recordsMax, 1024))
    this.uid = grown(this.uid, new Float64Array(length))
    this.sku = grown(this.sku, new Uint16Array(length))
    this.quantity = grown(this.quantity, new Int32Array(length))
    this.state = grown(this.state, new Uint8Array(length))
    this.isReading = grown(this.isReading, new Uint8Array(length))
    this.expiresAt = grown(this.expiresAt, new Float64Array(length))
    this.readAt = grown(this.readAt, new Float64Array(length))
    this.line = grown(this.line, new Uint8Array(length))
    this.place = grown(this.place, new Float64Array(length))
    this.token = grown(this.token, new Uint32Array(length * 4))
    this.next = grown(this.next, new Int32Array(length))
  }
}

function grown<T extends { set(from: ArrayLike<number>): void }>(from: ArrayLike<number>, to: T): T {
  to.set(from)
  return to
}
