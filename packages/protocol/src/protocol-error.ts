import { CodedError } from '@bigtap/kernel'

/** What can be wrong with bytes that came from a peer. */
export type ProtocolErrorCode =
  | 'BAD_MAGIC'
  | 'BAD_VERSION'
  | 'BAD_KIND'
  | 'BAD_FLAGS'
  | 'LENGTH_EXCEEDED'
  | 'TRUNCATED'
  | 'BAD_WIRE_TYPE'
  | 'BAD_TEXT'
  | 'BAD_VALUE'
  | 'NUMBER_TOO_LARGE'
  | 'ROWS_EXCEEDED'
  | 'COLUMN_MISMATCH'
  | 'MALFORMED'

/** Bytes that break the protocol. `code` says how, `data` holds the values. */
export class ProtocolError extends CodedError {
  override readonly name = 'ProtocolError'
  declare readonly code: ProtocolErrorCode

  constructor(code: ProtocolErrorCode, message: string, data: Record<string, unknown> = {}, cause?: unknown) {
    super({ code, message, data, cause })
  }
}

/** A header with a wrong value. */
export function badFrame(code: ProtocolErrorCode, what: string, value: number, limit: number): ProtocolError {
  const relation = code === 'LENGTH_EXCEEDED' ? 'exceeds' : 'is not within'
  return new ProtocolError(code, `${what} ${value} ${relation} ${limit}`, { value, limit })
}

/** A body with a wrong value. */
export function malformed(code: ProtocolErrorCode, message: string, data: Record<string, unknown>): ProtocolError {
  return new ProtocolError(code, message, data)
}
