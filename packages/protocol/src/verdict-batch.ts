import {
  readPackedU32,
  readPackedU53,
  sizeOfColumnU32,
  sizeOfColumnU53,
  writeColumnU32,
  writeColumnU53,
} from './columns.ts'
import { GRANTED } from './kind.ts'
import { malformed } from './protocol-error.ts'
import { readU32Into, scratch, sizeOfU32, skipField, WIRE_BYTES, WIRE_VARINT, within, writeU32 } from './wire.ts'

/*
 * message VerdictBatch (proto/ask.proto), one element per row and column:
 *   1 askId u32 … | 2 code u32 … | 3 retryAfterMs u32 … | 4 ahead u32 … | 5 etaMs u32 …
 * and one element per granted row, in the order of the rows:
 *   6 token string … | 7 tokenExpiresAt u64 …
 * and of the batch, and again one element per row unless all are 0:
 *   8 shedFrom u32 | 9 place u32 …
 */

/** Longest token that a verdict may carry. */
export const TOKEN_BYTES_MAX = 256

/** A batch of verdicts as a struct of arrays; `token` and `tokenExpiresAt` are '' and 0 in rows that are not granted. */
export class VerdictColumns {
  readonly capacity: number
  readonly askId: Uint32Array
  readonly code: Uint32Array
  readonly retryAfterMs: Uint32Array
  readonly ahead: Uint32Array
  readonly etaMs: Uint32Array
  /** Place in the line, 0 for none. */
  readonly place: Uint32Array
  readonly token: string[]
  readonly tokenExpiresAt: Float64Array
  rows = 0
  /** Asks of this rank and worse are better not sent now; 0: send all. */
  shedFrom = 0

  constructor(capacity: number) {
    this.capacity = capacity
    this.askId = new Uint32Array(capacity)
    this.code = new Uint32Array(capacity)
    this.retryAfterMs = new Uint32Array(capacity)
    this.ahead = new Uint32Array(capacity)
    this.etaMs = new Uint32Array(capacity)
    this.place = new Uint32Array(capacity)
    this.token = new Array<string>(capacity).fill('')
    this.tokenExpiresAt = new Float64Array(capacity)
  }

  /** Adds a row that is not granted; false when the batch is full. */
  push(askId: number, code: number, retryAfterMs: number, ahead: number, etaMs: number, place = 0): boolean {
    if (this.rows === this.capacity) return false
    const row = this.rows++
    this.askId[row] = askId
    this.code[row] = code
    this.retryAfterMs[row] = retryAfterMs
    this.ahead[row] = ahead
    this.etaMs[row] = etaMs
    this.place[row] = place
    this.token[row] = ''
    this.tokenExpiresAt[row] = 0
    return true
  }

  /** Adds a granted row; false when the batch is full. */
  pushGranted(askId: number, token: string, expiresAt: number): boolean {
    if (!this.push(askId, GRANTED, 0, 0, 0)) return false
    this.token[this.rows - 1] = token
    this.tokenExpiresAt[this.rows - 1] = expiresAt
    return true
  }

  clear(): void {
    this.rows = 0
    this.shedFrom = 0
  }
}

/** Upper bound of the bytes that `rows` verdicts take with tokens of at most `tokenBytes`. */
export function verdictBatchBytesMax(rows: number, tokenBytes = TOKEN_BYTES_MAX): number {
  return 64 + rows * (41 + tokenBytes)
}

/** Expiries of the granted rows, packed together while a batch is written or read; grows to the largest capacity seen. */
let granted = new Float64Array(1024)

/** Writes the batch at `offset` of a buffer that the caller keeps and uses again; returns the offset after it. */
export function encodeVerdictBatch(batch: VerdictColumns, out: Uint8Array, offset = 0): number {
  const { rows } = batch
  const grants = gatherGranted(batch)
  if (offset + verdictBatchSize(batch, grants) > out.length) {
    throw malformed('LENGTH_EXCEEDED', 'verdict batch does not fit its buffer', { rows, bytes: out.length })
  }
  let at = writeColumnU32(out, offset, 1, batch.askId, rows)
  at = writeColumnU32(out, at, 2, batch.code, rows)
  at = writeColumnU32(out, at, 3, batch.retryAfterMs, rows)
  at = writeColumnU32(out, at, 4, batch.ahead, rows)
  at = writeColumnU32(out, at, 5, batch.etaMs, rows)
  if (grants > 0) at = writeGrants(batch, grants, out, at)
  if (batch.shedFrom > 0) {
    out[at] = 0x40
    at = writeU32(out, at + 1, batch.shedFrom)
  }
  return hasPlaces(batch) ? writeColumnU32(out, at, 9, batch.place, rows) : at
}

function writeGrants(batch: VerdictColumns, grants: number, out: Uint8Array, offset: number): number {
  let at = offset
  for (let row = 0; row < batch.rows; row++) {
    if (batch.code[row] === GRANTED) at = writeToken(out, at, batch.token[row] as string)
  }
  return writeColumnU53(out, at, 7, granted, grants)
}

function hasPlaces({ place, rows }: VerdictColumns): boolean {
  for (let row = 0; row < rows; row++) if (place[row] !== 0) return true
  return false
}

function gatherGranted(batch: VerdictColumns): number {
  if (granted.length < batch.capacity) granted = new Float64Array(batch.capacity)
  let grants = 0
  for (let row = 0; row < batch.rows; row++) {
    if (batch.code[row] === GRANTED) granted[grants++] = batch.tokenExpiresAt[row] as number
  }
  return grants
}

function verdictBatchSize(batch: VerdictColumns, grants: number): number {
  const { rows } = batch
  let bytes =
    sizeOfColumnU32(batch.askId, rows) +
    sizeOfColumnU32(batch.code, rows) +
    sizeOfColumnU32(batch.retryAfterMs, rows) +
    sizeOfColumnU32(batch.ahead, rows) +
    sizeOfColumnU32(batch.etaMs, rows)
  if (batch.shedFrom > 0) bytes += 1 + sizeOfU32(batch.shedFrom)
  if (hasPlaces(batch)) bytes += sizeOfColumnU32(batch.place, rows)
  if (grants === 0) return bytes
  for (let row = 0; row < rows; row++) {
    if (batch.code[row] !== GRANTED) continue
    const { length } = batch.token[row] as string
    bytes += 1 + sizeOfU32(length) + length
  }
  return bytes + sizeOfColumnU53(granted, grants)
}

function writeToken(out: Uint8Array, offset: number, token: string): number {
  const { length } = token
  if (length > TOKEN_BYTES_MAX) throw malformed('BAD_TEXT', 'token is too long', { length })
  out[offset] = 0x32
  const at = writeU32(out, offset + 1, length)
  for (let i = 0; i < length; i++) {
    const unit = token.charCodeAt(i)
    if (unit > 0x7f) throw malformed('BAD_TEXT', 'token is not ASCII', { at: i })
    out[at + i] = unit
  }
  return at + length
}

/** Rows seen per column, and tokens at 6; decoding is synchronous and never nests. */
const seen = new Int32Array(10)

/** Fills `batch` (what was in it is gone). Throws a ProtocolError; `batch` then has no rows. */
export function decodeVerdictBatch(bytes: Uint8Array, batch: VerdictColumns): void {
  batch.clear()
  seen.fill(0)
  if (granted.length < batch.capacity) granted = new Float64Array(batch.capacity)
  const end = bytes.length
  let at = 0
  while (at < end) {
    at = readU32Into(bytes, at, end, scratch, 0)
    at = readField(bytes, at, end, scratch[0] as number, batch)
  }
  const rows = seen[1] as number
  for (let column = 2; column <= 5; column++) {
    if (seen[column] !== rows) throw malformed('COLUMN_MISMATCH', 'columns differ in rows', { column, rows })
  }
  spreadGranted(batch, rows)
  if (seen[9] === 0) batch.place.fill(0, 0, rows)
  else if (seen[9] !== rows) throw malformed('COLUMN_MISMATCH', 'columns differ in rows', { column: 9, rows })
  batch.rows = rows
}

/** Tokens came one after the other into the first rows: moves them to the granted rows, from the last to the first. */
function spreadGranted(batch: VerdictColumns, rows: number): void {
  let grants = seen[6] as number
  if (grants !== seen[7]) throw malformed('COLUMN_MISMATCH', 'tokens and expiries differ', { grants })
  let expected = 0
  for (let row = 0; row < rows; row++) if (batch.code[row] === GRANTED) expected++
  if (grants !== expected) throw malformed('COLUMN_MISMATCH', 'tokens and granted rows differ', { grants, expected })
  for (let row = rows - 1; row >= 0; row--) {
    const isGranted = batch.code[row] === GRANTED
    if (isGranted) grants--
    batch.token[row] = isGranted ? (batch.token[grants] as string) : ''
    batch.tokenExpiresAt[row] = isGranted ? (granted[grants] as number) : 0
  }
}

function readField(bytes: Uint8Array, at: number, end: number, tag: number, batch: VerdictColumns): number {
  const type = tag & 7
  switch (tag >>> 3) {
    case 1:
      return readPackedU32(bytes, at, end, type, batch.askId, seen, 1)
    case 2:
      return readPackedU32(bytes, at, end, type, batch.code, seen, 2)
    case 3:
      return readPackedU32(bytes, at, end, type, batch.retryAfterMs, seen, 3)
    case 4:
      return readPackedU32(bytes, at, end, type, batch.ahead, seen, 4)
    case 5:
      return readPackedU32(bytes, at, end, type, batch.etaMs, seen, 5)
    case 6:
      return readToken(bytes, at, end, type, batch)
    case 7:
      return readPackedU53(bytes, at, end, type, granted, seen, 7)
    case 8: {
      if (type !== WIRE_VARINT) throw malformed('BAD_WIRE_TYPE', 'shedFrom is no varint', { type })
      const next = readU32Into(bytes, at, end, scratch, 0)
      batch.shedFrom = scratch[0] as number
      return next
    }
    case 9:
      return readPackedU32(bytes, at, end, type, batch.place, seen, 9)
    case 0:
      throw malformed('BAD_VALUE', 'field number is 0', { at })
    default:
      return skipField(bytes, at, end, type)
  }
}

function readToken(bytes: Uint8Array, offset: number, end: number, wireType: number, batch: VerdictColumns): number {
  if (wireType !== WIRE_BYTES) throw malformed('BAD_WIRE_TYPE', 'token is no string', { wireType })
  const index = seen[6] as number
  if (index === batch.capacity) throw malformed('ROWS_EXCEEDED', 'batch has more tokens than rows', { index })
  const at = readU32Into(bytes, offset, end, scratch, 0)
  const length = scratch[0] as number
  const until = within(at + length, end)
  if (length > TOKEN_BYTES_MAX) throw malformed('BAD_TEXT', 'token is too long', { length })
  for (let i = at; i < until; i++) {
    if ((bytes[i] as number) > 0x7f) throw malformed('BAD_TEXT', 'token is not ASCII', { at: i - at })
  }
  batch.token[index] = Buffer.from(bytes.buffer, bytes.byteOffset + at, length).toString('latin1')
  seen[6] = index + 1
  return until
}
