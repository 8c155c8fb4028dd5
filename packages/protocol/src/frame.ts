import { KIND_MAX, type Kind } from './kind.ts'
import { badFrame } from './protocol-error.ts'

/*
 * A frame, little-endian:
 *
 *   0    1    2       3    4     6        8           12      16
 *   'B'  'T'  version kind flags reserved correlation length  body …
 */
export const HEADER_BYTES = 16
/** Major version of the frames; another one is refused. */
export const VERSION_MAJOR = 1
/** Minor version; a newer one only adds fields. */
export const VERSION_MINOR = 0

/** 1 MiB: the longest body that a frame may announce. */
export const BODY_BYTES_MAX = 1_048_576

const MAGIC_B = 0x42
const MAGIC_T = 0x54

/** Writes the 16 bytes of a header at `offset` and returns the offset after them. */
export function writeHeader(
  target: Uint8Array,
  offset: number,
  kind: Kind,
  correlation: number,
  lengthBytes: number,
): number {
  if (lengthBytes > BODY_BYTES_MAX) throw badFrame('LENGTH_EXCEEDED', 'frame length', lengthBytes, BODY_BYTES_MAX)
  target[offset] = MAGIC_B
  target[offset + 1] = MAGIC_T
  target[offset + 2] = VERSION_MAJOR
  target[offset + 3] = kind
  writeU32(target, offset + 4, 0)
  writeU32(target, offset + 8, correlation)
  writeU32(target, offset + 12, lengthBytes)
  return offset + HEADER_BYTES
}

/** A whole frame in its own memory; the body is copied. */
export function encodeFrame(kind: Kind, correlation: number, body: Uint8Array): Uint8Array {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + body.length)
  writeHeader(frame, 0, kind, correlation, body.length)
  frame.set(body, HEADER_BYTES)
  return frame
}

/** Checks the header at `offset` and returns its length field; throws a ProtocolError that says which value is wrong. */
export function checkHeader(bytes: Uint8Array, offset: number, bodyBytesMax: number): number {
  const magic = readU16(bytes, offset)
  if (magic !== (MAGIC_T << 8) + MAGIC_B) throw badFrame('BAD_MAGIC', 'frame magic', magic, 0x5442)
  const version = bytes[offset + 2] as number
  if (version !== VERSION_MAJOR) throw badFrame('BAD_VERSION', 'frame version', version, VERSION_MAJOR)
  const kind = bytes[offset + 3] as number
  if (kind < 1 || kind > KIND_MAX) throw badFrame('BAD_KIND', 'frame kind', kind, KIND_MAX)
  const reserved = readU32(bytes, offset + 4)
  if (reserved !== 0) throw badFrame('BAD_FLAGS', 'frame flags and reserved', reserved, 0)
  const lengthBytes = readU32(bytes, offset + 12)
  if (lengthBytes > bodyBytesMax) throw badFrame('LENGTH_EXCEEDED', 'frame length', lengthBytes, bodyBytesMax)
  return lengthBytes
}

/** Kind of the frame whose header begins at `at`. */
export function readKind(bytes: Uint8Array, offset: number): Kind {
  return bytes[offset + 3] as Kind
}

/** Correlation of the frame whose header begins at `at`. */
export function readCorrelation(bytes: Uint8Array, offset: number): number {
  return readU32(bytes, offset + 8)
}

function readU16(bytes: Uint8Array, offset: number): number {
  return (bytes[offset] as number) + (bytes[offset + 1] as number) * 0x100
}

function readU32(bytes: Uint8Array, offset: number): number {
  return readU16(bytes, offset) + readU16(bytes, offset + 2) * 0x10000
}

function writeU32(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value
  bytes[offset + 1] = value >>> 8
  bytes[offset + 2] = value >>> 16
  bytes[offset + 3] = value >>> 24
}
