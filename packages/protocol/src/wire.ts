import { malformed } from './protocol-error.ts'

/*
 * The protobuf wire format, as far as columns need it. A varint holds 7 bits per byte, the lowest first, and says with
 * its top bit that another byte follows. Cursors are small integers and values go straight into typed arrays, so that
 * nothing here makes an object.
 */
export const WIRE_VARINT = 0
/** Wire type of what has a length before it. */
export const WIRE_BYTES = 2

const TWO_32 = 4_294_967_296

/** Bytes of a u32 as a varint, 1 to 5. */
export function sizeOfU32(value: number): number {
  if (value < 0x80) return 1
  if (value < 0x4000) return 2
  if (value < 0x20_0000) return 3
  return value < 0x1000_0000 ? 4 : 5
}

/** Bytes of `column[row]`, an integer up to 2^53 - 1, as a varint, 1 to 8. The column comes along so that no double is boxed. */
export function sizeOfU53(column: Float64Array, row: number): number {
  const value = column[row] as number
  if (value < 0x1000_0000) return sizeOfU32(value)
  if (value < 0x8_0000_0000) return 5
  if (value < 0x400_0000_0000) return 6
  return value < 0x2_0000_0000_0000 ? 7 : 8
}

/** Writes a u32 and returns the offset after it. */
export function writeU32(out: Uint8Array, offset: number, value: number): number {
  let rest = value >>> 0
  let at = offset
  while (rest > 0x7f) {
    out[at++] = rest | 0x80
    rest >>>= 7
  }
  out[at++] = rest
  return at
}

/** Writes `column[row]`, an integer up to 2^53 - 1, and returns the offset after it. */
export function writeU53(out: Uint8Array, offset: number, column: Float64Array, row: number): number {
  const value = column[row] as number
  if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) {
    throw malformed('NUMBER_TOO_LARGE', 'number is not within 0 and 2^53 - 1', { value })
  }
  let high = Math.floor(value / TWO_32)
  let low = (value - high * TWO_32) >>> 0
  let at = offset
  while (high > 0 || low > 0x7f) {
    out[at++] = low | 0x80
    low = ((low >>> 7) | (high << 25)) >>> 0
    high >>>= 7
  }
  out[at++] = low
  return at
}

/** Offset after the varint at `offset`; throws when it does not end before `end` or is longer than 10 bytes. */
export function skipVarint(bytes: Uint8Array, offset: number, end: number): number {
  for (let at = offset; at < end && at < offset + 10; at++) if ((bytes[at] as number) < 0x80) return at + 1
  throw malformed('TRUNCATED', 'varint does not end', { offset, end })
}

/** Reads the varint at `offset` into `column[row]`, checked to be a u32; returns the offset after it. */
export function readU32Into(bytes: Uint8Array, offset: number, end: number, column: Uint32Array, row: number): number {
  if (offset < end) {
    const first = bytes[offset] as number
    if (first < 0x80) {
      column[row] = first
      return offset + 1
    }
  }
  const next = skipVarint(bytes, offset, end)
  let value = 0
  for (let at = next - 1; at >= offset; at--) {
    if (value > 0x1ff_ffff) throw malformed('NUMBER_TOO_LARGE', 'number exceeds 2^32 - 1', { offset })
    value = value * 0x80 + ((bytes[at] as number) & 0x7f)
  }
  column[row] = value
  return next
}

/** Reads the varint at `offset` into `column[row]`, checked to be at most 2^53 - 1; returns the offset after it. */
export function readU53Into(bytes: Uint8Array, offset: number, end: number, column: Float64Array, row: number): number {
  const next = skipVarint(bytes, offset, end)
  let value = 0
  for (let at = next - 1; at >= offset; at--) {
    if (value > 0x3fff_ffff_ffff) throw malformed('NUMBER_TOO_LARGE', 'number exceeds 2^53 - 1', { offset })
    value = value * 0x80 + ((bytes[at] as number) & 0x7f)
  }
  column[row] = value
  return next
}

/** Skips the value of an unknown field: a newer minor version may have added it. */
export function skipField(bytes: Uint8Array, offset: number, end: number, wireType: number): number {
  if (wireType === WIRE_VARINT) return skipVarint(bytes, offset, end)
  if (wireType === 1) return within(offset + 8, end)
  if (wireType === 5) return within(offset + 4, end)
  if (wireType !== WIRE_BYTES) throw malformed('BAD_WIRE_TYPE', 'wire type is not known', { wireType, offset })
  const length = readU32Into(bytes, offset, end, scratch, 0)
  return within(length + (scratch[0] as number), end)
}

/** Checks that a value that ends at `until` lies within `end`, and returns `until`. */
export function within(until: number, end: number): number {
  if (until > end) throw malformed('TRUNCATED', 'field ends after its message', { until, end })
  return until
}

/** One place for a number that is not kept (a tag, a length). */
export const scratch = new Uint32Array(1)
