import type { AbuseVerdict } from '@bigtap/domain'
import { malformed } from './protocol-error.ts'

/** Verdicts in the order of the board's log; the first stands at position `from`, the others follow without a gap. */
export interface AbuseVerdictBatch {
  readonly from: number
  readonly verdicts: readonly AbuseVerdict[]
}

/** Writes a batch. */
export function encodeAbuseVerdicts(_batch: AbuseVerdictBatch): Uint8Array {
  throw malformed('BAD_VALUE', 'not written yet', {})
}

/** Reads a batch. Throws a ProtocolError. */
export function decodeAbuseVerdicts(_bytes: Uint8Array): AbuseVerdictBatch {
  throw malformed('BAD_VALUE', 'not written yet', {})
}
