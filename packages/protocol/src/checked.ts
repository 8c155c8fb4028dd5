import { type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf'
import { malformed, ProtocolError } from './protocol-error.ts'

/** Decodes with the generated codec; whatever it throws becomes a ProtocolError. */
export function decodeMessage<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  try {
    return fromBinary(schema, bytes, { readUnknownFields: false })
  } catch (cause) {
    throw new ProtocolError('MALFORMED', `body is no ${schema.name}`, { message: schema.name }, cause)
  }
}

/** Encodes with the generated codec; a value that its field cannot hold becomes a ProtocolError. */
export function encodeMessage<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): Uint8Array {
  try {
    return toBinary(schema, message)
  } catch (cause) {
    throw new ProtocolError('BAD_VALUE', `value does not fit ${schema.name}`, { message: schema.name }, cause)
  }
}

/** A u64 of the wire as a number; refused above 2^53 - 1. */
export function toNumber(value: bigint, field: string): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw malformed('NUMBER_TOO_LARGE', `${field} exceeds 2^53 - 1`, { field, value: String(value) })
  }
  return Number(value)
}

/** A number as a u64 of the wire; refused unless it is an integer within 0 and 2^53 - 1. */
export function toU64(value: number, field: string): bigint {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw malformed('NUMBER_TOO_LARGE', `${field} is no integer within 0 and 2^53 - 1`, { field, value })
  }
  return BigInt(value)
}

/** Refuses text over its limit, so that no field can carry a body's worth of it. */
export function boundedText(value: string, field: string, charsMax: number): string {
  if (value.length > charsMax) {
    throw malformed('BAD_TEXT', `${field} has ${value.length} characters, exceeds ${charsMax}`, { field })
  }
  return value
}
