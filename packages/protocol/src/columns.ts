import { malformed } from './protocol-error.ts'
import {
  readU32Into,
  readU53Into,
  scratch,
  sizeOfU32,
  sizeOfU53,
  WIRE_BYTES,
  WIRE_VARINT,
  within,
  writeU32,
  writeU53,
} from './wire.ts'

/*
 * A column is one packed repeated field:  tag | bytes of the values | value value value …
 * A column without rows is not written, as protobuf wants it.
 */

/** Bytes that a column of u32 takes, tag and length included. */
export function sizeOfColumnU32(column: Uint32Array, rows: number): number {
  const bytes = valueBytesU32(column, rows)
  return rows === 0 ? 0 : 1 + sizeOfU32(bytes) + bytes
}

/** Bytes that a column of integers up to 2^53 - 1 takes, tag and length included. */
export function sizeOfColumnU53(column: Float64Array, rows: number): number {
  const bytes = valueBytesU53(column, rows)
  return rows === 0 ? 0 : 1 + sizeOfU32(bytes) + bytes
}

/** Writes `rows` values as field `field` (1 to 15); returns the offset after them. */
export function writeColumnU32(
  out: Uint8Array,
  offset: number,
  field: number,
  column: Uint32Array,
  rows: number,
): number {
  if (rows === 0) return offset
  out[offset] = (field << 3) | WIRE_BYTES
  let at = writeU32(out, offset + 1, valueBytesU32(column, rows))
  for (let row = 0; row < rows; row++) {
    const value = column[row] as number
    if (value < 0x80) out[at++] = value
    else at = writeU32(out, at, value)
  }
  return at
}

/** As writeColumnU32, for integers up to 2^53 - 1. */
export function writeColumnU53(
  out: Uint8Array,
  offset: number,
  field: number,
  column: Float64Array,
  rows: number,
): number {
  if (rows === 0) return offset
  out[offset] = (field << 3) | WIRE_BYTES
  let at = writeU32(out, offset + 1, valueBytesU53(column, rows))
  for (let row = 0; row < rows; row++) at = writeU53(out, at, column, row)
  return at
}

/**
 * Reads field `column` (packed, or a single value as old writers may send it) behind the rows that it already has, and
 * counts them in `seen[index]`. Throws when the rows exceed the column's capacity.
 */
export function readPackedU32(
  bytes: Uint8Array,
  offset: number,
  end: number,
  wireType: number,
  column: Uint32Array,
  seen: Int32Array,
  index: number,
): number {
  const until = packedEnd(bytes, offset, end, wireType)
  let at = wireType === WIRE_BYTES ? (scratch[0] as number) : offset
  let row = seen[index] as number
  do {
    if (at === until) break
    if (row === column.length) throw rowsExceeded(column.length)
    at = readU32Into(bytes, at, until, column, row++)
  } while (wireType === WIRE_BYTES)
  seen[index] = row
  return at
}

/** As readPackedU32, for integers up to 2^53 - 1. */
export function readPackedU53(
  bytes: Uint8Array,
  offset: number,
  end: number,
  wireType: number,
  column: Float64Array,
  seen: Int32Array,
  index: number,
): number {
  const until = packedEnd(bytes, offset, end, wireType)
  let at = wireType === WIRE_BYTES ? (scratch[0] as number) : offset
  let row = seen[index] as number
  do {
    if (at === until) break
    if (row === column.length) throw rowsExceeded(column.length)
    at = readU53Into(bytes, at, until, column, row++)
  } while (wireType === WIRE_BYTES)
  seen[index] = row
  return at
}

/** End of the values; for a packed field, `scratch[0]` is then where they begin. */
function packedEnd(bytes: Uint8Array, offset: number, end: number, wireType: number): number {
  if (wireType === WIRE_VARINT) {
    if (offset === end) throw malformed('TRUNCATED', 'value is missing', { offset })
    return end
  }
  if (wireType !== WIRE_BYTES) throw malformed('BAD_WIRE_TYPE', 'column is not packed', { wireType })
  const begin = readU32Into(bytes, offset, end, scratch, 0)
  const until = within(begin + (scratch[0] as number), end)
  scratch[0] = begin
  return until
}

function valueBytesU32(column: Uint32Array, rows: number): number {
  let bytes = rows
  for (let row = 0; row < rows; row++) {
    const value = column[row] as number
    if (value >= 0x80) bytes += sizeOfU32(value) - 1
  }
  return bytes
}

function valueBytesU53(column: Float64Array, rows: number): number {
  let bytes = 0
  for (let row = 0; row < rows; row++) bytes += sizeOfU53(column, row)
  return bytes
}

function rowsExceeded(capacity: number): Error {
  return malformed('ROWS_EXCEEDED', `batch has more rows than ${capacity}`, { capacity })
}
