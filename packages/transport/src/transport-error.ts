import { CodedError } from '@bigtap/kernel'

/** Why a call or a link failed. UNKNOWN outcome (it may have been done): CALL_TIMEOUT, LINK_LOST. Not sent: the others. */
export type TransportErrorCode =
  | 'NOT_CONNECTED'
  | 'OVERLOADED'
  | 'CALL_TIMEOUT'
  | 'LINK_LOST'
  | 'REMOTE_ERROR'
  | 'BAD_ADDRESS'
  | 'BAD_STATE'
  | 'STOPPED'

/** A fault of a link or of a call over it; `data` holds node, kind and the like. */
export class TransportError extends CodedError {
  override readonly name = 'TransportError'
  declare readonly code: TransportErrorCode

  constructor(code: TransportErrorCode, message: string, data: Record<string, unknown> = {}, cause?: unknown) {
    super({ code, message, data, cause })
  }
}
