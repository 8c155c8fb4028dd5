import { type AbuseVerdict, SUBJECT_KINDS, type SubjectKind, TIER_COUNT, type Tier } from '@bigtap/domain'
import { create } from '@bufbuild/protobuf'
import { boundedText, decodeMessage, encodeMessage, toNumber, toU64 } from './checked.ts'
import { AbuseVerdictBatchSchema, type AbuseVerdict as AbuseVerdictMessage } from './gen/event_pb.ts'
import { NAME_CHARS_MAX } from './link-messages.ts'
import { malformed } from './protocol-error.ts'

/** Most verdicts in one batch: with the longest texts they fit a frame. */
export const ABUSE_BATCH_MAX = 1_024
/** Longest reason of a verdict. */
export const ABUSE_REASON_CHARS_MAX = 256

const ID = /^[0-9a-f]{16}$/
const KEYS: Readonly<Record<SubjectKind, RegExp>> = {
  uid: /^[1-9][0-9]{0,15}$/,
  ip: /^[0-9a-fA-F.:]{2,45}$/,
  subnet: /^[0-9a-fA-F.:]{1,45}$/,
  device: /^[0-9a-f]{1,14}$/,
}

/** Verdicts in the order of the board's log; the first stands at position `from`, the others follow without a gap. */
export interface AbuseVerdictBatch {
  readonly from: number
  readonly verdicts: readonly AbuseVerdict[]
}

/** Writes a batch; throws a ProtocolError for what decodeAbuseVerdicts would refuse. */
export function encodeAbuseVerdicts({ from, verdicts }: AbuseVerdictBatch): Uint8Array {
  checkCount(verdicts.length)
  const message = create(AbuseVerdictBatchSchema, {
    from: toU64(from, 'from'),
    verdicts: verdicts.map((verdict) => {
      const { id, kind, key, tier, reason, score, at, expiresAt, isShadow, by } = checkVerdict(verdict)
      return {
        id,
        kind: SUBJECT_KINDS.indexOf(kind),
        key,
        tier,
        reason,
        score,
        at: toU64(at, 'at'),
        expiresAt: toU64(expiresAt, 'expiresAt'),
        isShadow,
        by,
      }
    }),
  })
  return encodeMessage(AbuseVerdictBatchSchema, message)
}

/**
 * Reads a batch. Throws a ProtocolError for more than 1,024 verdicts, an id that is not 16 hexadecimal digits, an unknown kind, a
 * key that is none of its kind, a tier over 5, a score outside 0..1, and texts over their limits.
 */
export function decodeAbuseVerdicts(bytes: Uint8Array): AbuseVerdictBatch {
  const { from, verdicts } = decodeMessage(AbuseVerdictBatchSchema, bytes)
  checkCount(verdicts.length)
  return { from: toNumber(from, 'from'), verdicts: verdicts.map(verdictOf) }
}

function verdictOf(message: AbuseVerdictMessage): AbuseVerdict {
  const { id, kind, key, tier, reason, score, at, expiresAt, isShadow, by } = message
  const named = SUBJECT_KINDS[kind]
  if (named === undefined) throw malformed('BAD_VALUE', `kind ${kind} is no subject`, { kind })
  return checkVerdict({
    id,
    kind: named,
    key,
    tier: tier as Tier,
    reason,
    score,
    at: toNumber(at, 'at'),
    expiresAt: toNumber(expiresAt, 'expiresAt'),
    isShadow,
    by,
  })
}

function checkVerdict(verdict: AbuseVerdict): AbuseVerdict {
  const { id, kind, key, tier, reason, score, by } = verdict
  if (!ID.test(id)) throw malformed('BAD_VALUE', 'id of a verdict is not 16 hexadecimal digits', { chars: id.length })
  if (!KEYS[kind].test(key)) throw malformed('BAD_VALUE', `key is no ${kind}`, { kind, chars: key.length })
  if (kind === 'uid' && Number(key) > Number.MAX_SAFE_INTEGER) {
    throw malformed('NUMBER_TOO_LARGE', 'uid exceeds 2^53 - 1', { kind })
  }
  if (!(Number.isInteger(tier) && tier >= 0 && tier < TIER_COUNT)) {
    throw malformed('BAD_VALUE', `tier ${tier} is not within 0 and ${TIER_COUNT - 1}`, { tier })
  }
  if (!(score >= 0 && score <= 1)) throw malformed('BAD_VALUE', `score ${score} is not within 0 and 1`, { score })
  boundedText(reason, 'reason', ABUSE_REASON_CHARS_MAX)
  boundedText(by, 'by', NAME_CHARS_MAX)
  return verdict
}

function checkCount(count: number): void {
  if (count > ABUSE_BATCH_MAX) {
    throw malformed('ROWS_EXCEEDED', `${count} verdicts exceed ${ABUSE_BATCH_MAX}`, { count })
  }
}
