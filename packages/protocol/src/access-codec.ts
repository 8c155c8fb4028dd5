import { TIER_COUNT } from '@bigtap/domain'
import type { AccessColumns } from './access-batch.ts'
import {
  readPackedU32,
  readPackedU53,
  sizeOfColumnU32,
  sizeOfColumnU53,
  writeColumnU32,
  writeColumnU53,
} from './columns.ts'
import { NAME_CHARS_MAX } from './link-messages.ts'
import { malformed } from './protocol-error.ts'
import {
  readU32Into,
  readU53Into,
  scratch,
  sizeOfU32,
  sizeOfU53,
  skipField,
  WIRE_BYTES,
  WIRE_VARINT,
  within,
  writeU32,
  writeU53,
} from './wire.ts'

/*
 * message AccessBatch (proto/event.proto):
 *   1 nodeId string | 2 at u64
 * one element per row and column:
 *   3 afterMs u32 … | 4 uid u64 … | 5 activityId u32 … | 6 skuId u32 … | 7 call u32 … | 8 outcome u32 … | 9 flags u32 …
 *   10 tier u32 … | 11 address u32 …
 * each address once, and again one element per row:
 *   12 addresses string … | 13 device u64 …
 */

/** Longest text of an address: an IPv6 address with an IPv4 one in it has 45 characters. */
export const ADDRESS_CHARS_MAX = 45
/** Highest number that a reader takes for a call or an outcome: those of newer versions are not known, and are no fault. */
export const ACCESS_NUMBER_MAX = 31
const FLAGS_MAX = 0xffff

/** One place for a double that is not kept. */
const double = new Float64Array(1)

/** Writes the batch; the caller owns the bytes. Throws a ProtocolError for a text that is too long or not ASCII. */
export function encodeAccessBatch(batch: AccessColumns): Uint8Array {
  const { rows } = batch
  const out = new Uint8Array(accessBatchSize(batch))
  let at = batch.nodeId === '' ? 0 : writeText(out, 0, 0x0a, batch.nodeId, NAME_CHARS_MAX)
  if (batch.at !== 0) {
    out[at] = 0x10
    double[0] = batch.at
    at = writeU53(out, at + 1, double, 0)
  }
  at = writeColumnU32(out, at, 3, batch.afterMs, rows)
  at = writeColumnU53(out, at, 4, batch.uid, rows)
  at = writeColumnU32(out, at, 5, batch.activityId, rows)
  at = writeColumnU32(out, at, 6, batch.skuId, rows)
  at = writeColumnU32(out, at, 7, batch.call, rows)
  at = writeColumnU32(out, at, 8, batch.outcome, rows)
  at = writeColumnU32(out, at, 9, batch.flags, rows)
  at = writeColumnU32(out, at, 10, batch.tier, rows)
  at = writeColumnU32(out, at, 11, batch.address, rows)
  for (const address of batch.addresses) at = writeText(out, at, 0x62, address, ADDRESS_CHARS_MAX)
  writeColumnU53(out, at, 13, batch.device, rows)
  return out
}

function accessBatchSize(batch: AccessColumns): number {
  const { rows, nodeId, addresses } = batch
  double[0] = batch.at
  let bytes = (nodeId === '' ? 0 : sizeOfText(nodeId)) + (batch.at === 0 ? 0 : 1 + sizeOfU53(double, 0))
  for (const address of addresses) bytes += sizeOfText(address)
  return (
    bytes +
    sizeOfColumnU32(batch.afterMs, rows) +
    sizeOfColumnU53(batch.uid, rows) +
    sizeOfColumnU32(batch.activityId, rows) +
    sizeOfColumnU32(batch.skuId, rows) +
    sizeOfColumnU32(batch.call, rows) +
    sizeOfColumnU32(batch.outcome, rows) +
    sizeOfColumnU32(batch.flags, rows) +
    sizeOfColumnU32(batch.tier, rows) +
    sizeOfColumnU32(batch.address, rows) +
    sizeOfColumnU53(batch.device, rows)
  )
}

function sizeOfText({ length }: string): number {
  return 1 + sizeOfU32(length) + length
}

function writeText(out: Uint8Array, offset: number, tag: number, text: string, charsMax: number): number {
  const { length } = text
  if (length > charsMax) throw malformed('BAD_TEXT', `text of ${length} characters exceeds ${charsMax}`, { length })
  out[offset] = tag
  const at = writeU32(out, offset + 1, length)
  for (let i = 0; i < length; i++) {
    const unit = text.charCodeAt(i)
    if (unit > 0x7f) throw malformed('BAD_TEXT', 'text is not ASCII', { at: i })
    out[at + i] = unit
  }
  return at + length
}

/** Rows seen per column; decoding is synchronous and never nests. */
const seen = new Int32Array(14)
const COLUMNS = [4, 5, 6, 7, 8, 9, 10, 11, 13]

/**
 * Fills `batch` (what was in it is gone). Throws a ProtocolError; `batch` then has no rows. Refused are columns that differ in
 * length, a tier over 5, a row whose address is not in the list, and texts that are too long or not ASCII.
 */
export function decodeAccessBatch(bytes: Uint8Array, batch: AccessColumns): void {
  batch.clear()
  seen.fill(0)
  const end = bytes.length
  let at = 0
  while (at < end) {
    at = readU32Into(bytes, at, end, scratch, 0)
    at = readField(bytes, at, end, scratch[0] as number, batch)
  }
  const rows = seen[3] as number
  for (const column of COLUMNS) {
    if (seen[column] !== rows) throw malformed('COLUMN_MISMATCH', 'columns differ in rows', { column, rows })
  }
  if (batch.addresses.length > rows) throw malformed('COLUMN_MISMATCH', 'more addresses than rows', { rows })
  for (let row = 0; row < rows; row++) checkRow(batch, row)
  batch.rows = rows
}

function checkRow(batch: AccessColumns, row: number): void {
  const { call, outcome, flags, tier, address } = batch
  checkWithin('call', call[row] as number, 1, ACCESS_NUMBER_MAX)
  checkWithin('outcome', outcome[row] as number, 1, ACCESS_NUMBER_MAX)
  checkWithin('flags', flags[row] as number, 0, FLAGS_MAX)
  checkWithin('tier', tier[row] as number, 0, TIER_COUNT - 1)
  checkWithin('address', address[row] as number, 0, batch.addresses.length - 1)
}

function checkWithin(field: string, value: number, min: number, max: number): void {
  if (value < min || value > max) {
    throw malformed('BAD_VALUE', `${field} ${value} is not within ${min} and ${max}`, { field, value })
  }
}

function readField(bytes: Uint8Array, at: number, end: number, tag: number, batch: AccessColumns): number {
  const field = tag >>> 3
  switch (field) {
    case 1:
      return readNodeId(bytes, at, end, tag & 7, batch)
    case 2:
      return readAt(bytes, at, end, tag & 7, batch)
    case 12:
      return readAddress(bytes, at, end, tag & 7, batch)
    case 0:
      throw malformed('BAD_VALUE', 'field number is 0', { at })
    default:
      return readColumn(bytes, at, end, tag, batch)
  }
}

function readColumn(bytes: Uint8Array, at: number, end: number, tag: number, batch: AccessColumns): number {
  const type = tag & 7
  switch (tag >>> 3) {
    case 3:
      return readPackedU32(bytes, at, end, type, batch.afterMs, seen, 3)
    case 4:
      return readPackedU53(bytes, at, end, type, batch.uid, seen, 4)
    case 5:
      return readPackedU32(bytes, at, end, type, batch.activityId, seen, 5)
    case 6:
      return readPackedU32(bytes, at, end, type, batch.skuId, seen, 6)
    case 7:
      return readPackedU32(bytes, at, end, type, batch.call, seen, 7)
    case 8:
      return readPackedU32(bytes, at, end, type, batch.outcome, seen, 8)
    case 9:
      return readPackedU32(bytes, at, end, type, batch.flags, seen, 9)
    case 10:
      return readPackedU32(bytes, at, end, type, batch.tier, seen, 10)
    case 11:
      return readPackedU32(bytes, at, end, type, batch.address, seen, 11)
    case 13:
      return readPackedU53(bytes, at, end, type, batch.device, seen, 13)
    default:
      return skipField(bytes, at, end, type)
  }
}

function readAt(bytes: Uint8Array, offset: number, end: number, wireType: number, batch: AccessColumns): number {
  if (wireType !== WIRE_VARINT) throw malformed('BAD_WIRE_TYPE', 'time is no varint', { wireType })
  const next = readU53Into(bytes, offset, end, double, 0)
  batch.at = double[0] as number
  return next
}

function readNodeId(bytes: Uint8Array, offset: number, end: number, wireType: number, batch: AccessColumns): number {
  const until = checkText(bytes, offset, end, wireType, NAME_CHARS_MAX)
  batch.nodeId = textBefore(bytes, until)
  return until
}

function readAddress(bytes: Uint8Array, offset: number, end: number, wireType: number, batch: AccessColumns): number {
  const until = checkText(bytes, offset, end, wireType, ADDRESS_CHARS_MAX)
  if (batch.addresses.length === batch.capacity) {
    throw malformed('ROWS_EXCEEDED', `batch has more addresses than ${batch.capacity}`, { capacity: batch.capacity })
  }
  batch.addresses.push(textBefore(bytes, until))
  return until
}

/** Checks a text and returns its end; `scratch[0]` is then its length. */
function checkText(bytes: Uint8Array, offset: number, end: number, wireType: number, charsMax: number): number {
  if (wireType !== WIRE_BYTES) throw malformed('BAD_WIRE_TYPE', 'text is no string', { wireType })
  const at = readU32Into(bytes, offset, end, scratch, 0)
  const length = scratch[0] as number
  const until = within(at + length, end)
  if (length > charsMax) throw malformed('BAD_TEXT', `text of ${length} characters exceeds ${charsMax}`, { length })
  for (let i = at; i < until; i++) {
    if ((bytes[i] as number) > 0x7f) throw malformed('BAD_TEXT', 'text is not ASCII', { at: i - at })
  }
  return until
}

function textBefore(bytes: Uint8Array, until: number): string {
  const length = scratch[0] as number
  return Buffer.from(bytes.buffer, bytes.byteOffset + until - length, length).toString('latin1')
}
