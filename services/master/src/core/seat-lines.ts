/** Uids from the lines of a long CSV or NDJSON text that comes in pieces; a bad line is counted, said, and passed over. */

/** How a line holds its uid: the first field of CSV (a header line `uid…` is passed over), or JSON, a number or `{uid}`. */
export type SeatFormat = 'csv' | 'ndjson'

/** A line that holds no uid. */
export interface BadLine {
  readonly line: number
  readonly error: string
}

/** Bounds: a longer line is bad, and only the first bad lines are said (all are counted). */
export const SEAT_LINES_LIMITS = { lineLengthMax: 1_024, badLinesMax: 100 } as const

const NEWLINE = 10
const RETURN = 13
const ZERO = 48
const PLAIN_DIGITS_MAX = 15
const SHOWN_MAX = 40

/** A reader. Lines up to `skipLines` were read before and are passed over. */
export class SeatLines {
  readonly badLines: BadLine[] = []
  readonly #format: SeatFormat
  readonly #skipLines: number
  #lines = 0
  #bad = 0
  #rest = ''
  #isTooLong = false

  constructor({ format, skipLines = 0 }: { format: SeatFormat; skipLines?: number }) {
    this.#format = format
    this.#skipLines = skipLines
  }

  /** Whole lines so far, with those that were passed over. */
  get lines(): number {
    return this.#lines
  }

  get bad(): number {
    return this.#bad
  }

  /** The uids of the lines that this piece ends. */
  feed(piece: Uint8Array): number[] {
    const uids: number[] = []
    let start = 0
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, start)) {
      const uid = this.#rest === '' && !this.#isTooLong ? plainUid(piece, start, end) : 0
      if (uid > 0) this.#take(uid, uids)
      else {
        this.#append(piece, start, end)
        this.#endLine(uids)
      }
      start = end + 1
    }
    this.#append(piece, start, piece.length)
    return uids
  }

  /** The uid of a last line without an end. */
  end(): number[] {
    const uids: number[] = []
    if (this.#rest !== '' || this.#isTooLong) this.#endLine(uids)
    return uids
  }

  #take(uid: number, uids: number[]): void {
    this.#lines++
    if (this.#lines > this.#skipLines) uids.push(uid)
  }

  #append(piece: Uint8Array, start: number, end: number): void {
    if (this.#isTooLong || start === end) return
    if (this.#rest.length + end - start > SEAT_LINES_LIMITS.lineLengthMax) {
      this.#isTooLong = true
      this.#rest = ''
      return
    }
    // One byte, one character: a uid has only digits, and a cut character of more bytes does no harm.
    this.#rest += String.fromCharCode(...piece.subarray(start, end))
  }

  #endLine(uids: number[]): void {
    const text = this.#rest
    const isTooLong = this.#isTooLong
    this.#rest = ''
    this.#isTooLong = false
    this.#lines++
    if (this.#lines <= this.#skipLines) return
    if (isTooLong) {
      this.#refuse(`the line is longer than ${SEAT_LINES_LIMITS.lineLengthMax} bytes`)
      return
    }
    const trimmed = text.trim()
    if (trimmed === '' || (this.#lines === 1 && this.#format === 'csv' && /^"?uid\b/i.test(trimmed))) return
    const uid = this.#format === 'csv' ? uidOfCsv(trimmed) : uidOfJson(trimmed)
    if (uid === undefined) this.#refuse(`no uid in ${JSON.stringify(trimmed.slice(0, SHOWN_MAX))}`)
    else uids.push(uid)
  }

  #refuse(error: string): void {
    this.#bad++
    if (this.badLines.length < SEAT_LINES_LIMITS.badLinesMax) this.badLines.push({ line: this.#lines, error })
  }
}

/** A line of 1 to 15 digits, as nearly all are: without a text, 0.05 µs instead of 2. Zero is any other line. */
function plainUid(piece: Uint8Array, start: number, end: number): number {
  const last = piece[end - 1] === RETURN ? end - 1 : end
  if (last - start > PLAIN_DIGITS_MAX) return 0
  let uid = 0
  for (let at = start; at < last; at++) {
    const digit = (piece[at] as number) - ZERO
    if (digit < 0 || digit > 9) return 0
    uid = uid * 10 + digit
  }
  return uid
}

function uidOfCsv(line: string): number | undefined {
  const [, quoted, plain] = /^(?:"(\d+)"|(\d+))\s*(?:[,;\t]|$)/.exec(line) ?? []
  return uidOf(Number(quoted ?? plain))
}

function uidOfJson(line: string): number | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return uidOf(typeof value === 'object' && value !== null ? (value as { uid?: unknown }).uid : value)
  } catch {
    return undefined
  }
}

function uidOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 ? value : undefined
}
