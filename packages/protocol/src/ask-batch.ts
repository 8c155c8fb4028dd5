import {
  readPackedU32,
  readPackedU53,
  sizeOfColumnU32,
  sizeOfColumnU53,
  writeColumnU32,
  writeColumnU53,
} from './columns.ts'
import { malformed } from './protocol-error.ts'
import { readU32Into, scratch, sizeOfU32, skipField, WIRE_VARINT, writeU32 } from './wire.ts'

/*
 * message AskBatch (proto/ask.proto), one element per row and column:
 *   1 askId u32 … | 2 uid u64 … | 3 activityId u32 … | 4 skuId u32 … | 5 quantity u32 … | 6 budgetMs u32
 */

/** A batch of asks as a struct of arrays; made once at its capacity and used again. */
export class AskColumns {
  readonly capacity: number
  readonly askId: Uint32Array
  readonly uid: Float64Array
  readonly activityId: Uint32Array
  readonly skuId: Uint32Array
  readonly quantity: Uint32Array
  rows = 0
  budgetMs = 0

  constructor(capacity: number) {
    this.capacity = capacity
    this.askId = new Uint32Array(capacity)
    this.uid = new Float64Array(capacity)
    this.activityId = new Uint32Array(capacity)
    this.skuId = new Uint32Array(capacity)
    this.quantity = new Uint32Array(capacity)
  }

  /** Adds a row; false when the batch is full. */
  push(askId: number, uid: number, activityId: number, skuId: number, quantity: number): boolean {
    if (this.rows === this.capacity) return false
    const row = this.rows++
    this.askId[row] = askId
    this.uid[row] = uid
    this.activityId[row] = activityId
    this.skuId[row] = skuId
    this.quantity[row] = quantity
    return true
  }

  clear(): void {
    this.rows = 0
    this.budgetMs = 0
  }
}

/** Upper bound of the bytes that `rows` asks take; a buffer of this size always suffices. */
export function askBatchBytesMax(rows: number): number {
  return 64 + rows * 28
}

/** Writes the batch at `offset` of a buffer that the caller keeps and uses again; returns the offset after it. */
export function encodeAskBatch(batch: AskColumns, out: Uint8Array, offset = 0): number {
  const { rows } = batch
  if (offset + askBatchSize(batch) > out.length) {
    throw malformed('LENGTH_EXCEEDED', 'ask batch does not fit its buffer', { rows, bytes: out.length })
  }
  let at = writeColumnU32(out, offset, 1, batch.askId, rows)
  at = writeColumnU53(out, at, 2, batch.uid, rows)
  at = writeColumnU32(out, at, 3, batch.activityId, rows)
  at = writeColumnU32(out, at, 4, batch.skuId, rows)
  at = writeColumnU32(out, at, 5, batch.quantity, rows)
  if (batch.budgetMs === 0) return at
  out[at++] = 0x30
  return writeU32(out, at, batch.budgetMs)
}

function askBatchSize(batch: AskColumns): number {
  const { rows } = batch
  return (
    sizeOfColumnU32(batch.askId, rows) +
    sizeOfColumnU53(batch.uid, rows) +
    sizeOfColumnU32(batch.activityId, rows) +
    sizeOfColumnU32(batch.skuId, rows) +
    sizeOfColumnU32(batch.quantity, rows) +
    (batch.budgetMs === 0 ? 0 : 1 + sizeOfU32(batch.budgetMs))
  )
}

/** Rows seen per column of the message that is being decoded; decoding is synchronous and never nests. */
const seen = new Int32Array(6)

/** Fills `batch` (what was in it is gone). Throws a ProtocolError; `batch` then has no rows. */
export function decodeAskBatch(bytes: Uint8Array, batch: AskColumns): void {
  batch.clear()
  seen.fill(0)
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
  batch.rows = rows
}

function readField(bytes: Uint8Array, at: number, end: number, tag: number, batch: AskColumns): number {
  const type = tag & 7
  switch (tag >>> 3) {
    case 1:
      return readPackedU32(bytes, at, end, type, batch.askId, seen, 1)
    case 2:
      return readPackedU53(bytes, at, end, type, batch.uid, seen, 2)
    case 3:
      return readPackedU32(bytes, at, end, type, batch.activityId, seen, 3)
    case 4:
      return readPackedU32(bytes, at, end, type, batch.skuId, seen, 4)
    case 5:
      return readPackedU32(bytes, at, end, type, batch.quantity, seen, 5)
    case 6: {
      if (type !== WIRE_VARINT) throw malformed('BAD_WIRE_TYPE', 'budget is no varint', { type })
      const next = readU32Into(bytes, at, end, scratch, 0)
      batch.budgetMs = scratch[0] as number
      return next
    }
    case 0:
      throw malformed('BAD_VALUE', 'field number is 0', { at })
    default:
      return skipField(bytes, at, end, type)
  }
}
