/** Lines of an offline profile, `uid,tier` or `{"uid":1,"tier":3}`, from a file that comes in pieces. Pure. */

import { TIER_COUNT } from '@bigtap/domain'

/** A line that says nothing; the error names no uid. */
export interface BadLine {
  readonly line: number
  readonly error: string
}

/** Bounds: a longer line is bad, and only the first bad lines are named (all are counted). */
export const PROFILE_LINES_LIMITS = { lineBytesMax: 256, badLinesMax: 20 } as const

const NEWLINE = 10
const RETURN = 13
const COMMA = 44
const ZERO = 48
const PLAIN_DIGITS_MAX = 15
const HEADER = /^"?uid"?\s*,/i
const CSV = /^"?(\d{1,16})"?\s*[,;\t]\s*"?(\d+)"?$/

/** Reads pieces in order. A bad line is counted and passed over. */
export class ProfileLines {
  readonly badLines: BadLine[] = []
  readonly #onRow: (uid: number, tier: number) => void
  readonly #rest = Buffer.alloc(PROFILE_LINES_LIMITS.lineBytesMax)
  #restBytes = 0
  #isTooLong = false
  #lines = 0
  #bad = 0

  constructor(onRow: (uid: number, tier: number) => void) {
    this.#onRow = onRow
  }

  /** Whole lines so far. */
  get lines(): number {
    return this.#lines
  }

  get bad(): number {
    return this.#bad
  }

  feed(piece: Uint8Array): void {
    let start = 0
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, start)) {
      const isWhole = this.#restBytes === 0 && !this.#isTooLong
      if (isWhole && this.#takePlain(piece, start, end)) this.#lines++
      else {
        this.#append(piece, start, end)
        this.#endLine()
      }
      start = end + 1
    }
    this.#append(piece, start, piece.length)
  }

  /** The last line may have no end. */
  end(): void {
    if (this.#restBytes > 0 || this.#isTooLong) this.#endLine()
  }

  /** `digits,digit`, as nearly all lines are: without a text, 0.05 us instead of 1. */
  #takePlain(piece: Uint8Array, start: number, end: number): boolean {
    const last = piece[end - 1] === RETURN ? end - 1 : end
    const digits = last - start - 2
    if (digits < 1 || digits > PLAIN_DIGITS_MAX || piece[last - 2] !== COMMA) return false
    const tier = (piece[last - 1] as number) - ZERO
    if (!isTier(tier)) return false
    let uid = 0
    for (let at = start; at < last - 2; at++) {
      const digit = (piece[at] as number) - ZERO
      if (digit < 0 || digit > 9) return false
      uid = uid * 10 + digit
    }
    if (uid < 1) return false
    this.#onRow(uid, tier)
    return true
  }

  #append(piece: Uint8Array, start: number, end: number): void {
    if (this.#isTooLong || start === end) return
    if (this.#restBytes + end - start > this.#rest.length) {
      this.#isTooLong = true
      return
    }
    this.#rest.set(piece.subarray(start, end), this.#restBytes)
    this.#restBytes += end - start
  }

  #endLine(): void {
    const text = this.#rest.toString('utf8', 0, this.#restBytes).trim()
    const isTooLong = this.#isTooLong
    this.#restBytes = 0
    this.#isTooLong = false
    this.#lines++
    if (isTooLong) this.#refuse(`longer than ${PROFILE_LINES_LIMITS.lineBytesMax} bytes`)
    else if (text !== '' && !(this.#lines === 1 && HEADER.test(text))) this.#takeText(text)
  }

  #takeText(text: string): void {
    const row = text.startsWith('{') ? rowOfJson(text) : rowOfCsv(text)
    const fault = faultOf(row)
    if (row === undefined || fault !== undefined) this.#refuse(fault ?? '')
    else this.#onRow(row.uid, row.tier)
  }

  #refuse(error: string): void {
    this.#bad++
    if (this.badLines.length < PROFILE_LINES_LIMITS.badLinesMax) this.badLines.push({ line: this.#lines, error })
  }
}

interface Row {
  readonly uid: number
  readonly tier: number
}

function faultOf(row: Row | undefined): string | undefined {
  if (row === undefined) return 'neither uid,tier nor {"uid","tier"}'
  if (!Number.isSafeInteger(row.uid) || row.uid < 1) return 'uid must be a whole number from 1 to 2^53 - 1'
  return isTier(row.tier) ? undefined : `tier must be a whole number from 0 to ${TIER_COUNT - 1}`
}

function rowOfCsv(text: string): Row | undefined {
  const [, uid, tier] = CSV.exec(text) ?? []
  return uid === undefined || tier === undefined ? undefined : { uid: Number(uid), tier: Number(tier) }
}

function rowOfJson(text: string): Row | undefined {
  try {
    const { uid, tier } = JSON.parse(text) as { uid?: unknown; tier?: unknown }
    return { uid: typeof uid === 'number' ? uid : 0, tier: typeof tier === 'number' ? tier : -1 }
  } catch {
    return undefined
  }
}

function isTier(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < TIER_COUNT
}
