import { create } from '@bufbuild/protobuf'
import { boundedText, decodeMessage, encodeMessage, toNumber, toU64 } from './checked.ts'
import {
  type LedgerCall as LedgerCallMessage,
  LedgerCallSchema,
  LedgerCallsSchema,
  LedgerRepliesSchema,
  type LedgerReply as LedgerReplyMessage,
  LedgerReplySchema,
} from './gen/ledger_pb.ts'
import { OUTCOME, type Outcome, VERB, type Verb } from './kind.ts'
import { malformed } from './protocol-error.ts'

/** Most calls or replies in one frame. */
export const LEDGER_ROWS_MAX = 1_024

/** Longest id in a ledger message, in characters. */
export const ID_CHARS_MAX = 64

/** One call of the ledger. `tokenId` for reserve, `orderId` for confirm and cancel; what a verb does not use is '' or 0. */
export interface LedgerCall {
  verb: Verb
  callId: number
  tokenId: string
  orderId: string
  uid: number
  activityId: number
  skuId: number
  quantity: number
  expiresAt: number
  requestId: string
}

/** The answer to the call with the same `callId`; order fields are '' and 0 when there is no order. */
export interface LedgerReply {
  callId: number
  outcome: Outcome
  orderId: string
  priceCents: number
  payBy: number
  state: string
  quantity: number
  skuId: number
  activityId: number
  uid: number
}

/** Fields left out are '' or 0. */
export type LedgerCallInit = Pick<LedgerCall, 'verb' | 'callId'> & Partial<LedgerCall>
/** A reply to be written; fields left out are '' or 0. */
export type LedgerReplyInit = Pick<LedgerReply, 'callId' | 'outcome'> & Partial<LedgerReply>

/** Writes at most 1,024 calls as the body of a Reserve frame. */
export function encodeLedgerCalls(calls: readonly LedgerCallInit[]): Uint8Array {
  rowsWithin(calls.length)
  return encodeMessage(LedgerCallsSchema, create(LedgerCallsSchema, { calls: calls.map(callToMessage) }))
}

/** Throws a ProtocolError for an unknown verb, a number over 2^53 - 1, an id over 64 characters or more than 1,024 calls. */
export function decodeLedgerCalls(body: Uint8Array): LedgerCall[] {
  const { calls } = decodeMessage(LedgerCallsSchema, body)
  rowsWithin(calls.length)
  return calls.map(callFromMessage)
}

/** Writes at most 1,024 replies as the body of a ReserveReply frame. */
export function encodeLedgerReplies(replies: readonly LedgerReplyInit[]): Uint8Array {
  rowsWithin(replies.length)
  return encodeMessage(LedgerRepliesSchema, create(LedgerRepliesSchema, { replies: replies.map(replyToMessage) }))
}

/** Throws a ProtocolError for an unknown outcome, a number over 2^53 - 1, an id over 64 characters or more than 1,024 replies. */
export function decodeLedgerReplies(body: Uint8Array): LedgerReply[] {
  const { replies } = decodeMessage(LedgerRepliesSchema, body)
  rowsWithin(replies.length)
  return replies.map(replyFromMessage)
}

function callToMessage(call: LedgerCallInit): LedgerCallMessage {
  return create(LedgerCallSchema, {
    verb: call.verb,
    callId: call.callId,
    tokenId: call.tokenId ?? '',
    orderId: call.orderId ?? '',
    uid: toU64(call.uid ?? 0, 'uid'),
    activityId: call.activityId ?? 0,
    skuId: call.skuId ?? 0,
    quantity: call.quantity ?? 0,
    expiresAt: toU64(call.expiresAt ?? 0, 'expiresAt'),
    requestId: call.requestId ?? '',
  })
}

function callFromMessage(call: LedgerCallMessage): LedgerCall {
  const { callId, activityId, skuId, quantity } = call
  return {
    verb: oneOf(VERB, call.verb, 'verb'),
    callId,
    tokenId: boundedText(call.tokenId, 'tokenId', ID_CHARS_MAX),
    orderId: boundedText(call.orderId, 'orderId', ID_CHARS_MAX),
    uid: toNumber(call.uid, 'uid'),
    activityId,
    skuId,
    quantity,
    expiresAt: toNumber(call.expiresAt, 'expiresAt'),
    requestId: boundedText(call.requestId, 'requestId', ID_CHARS_MAX),
  }
}

function replyToMessage(reply: LedgerReplyInit): LedgerReplyMessage {
  return create(LedgerReplySchema, {
    callId: reply.callId,
    outcome: reply.outcome,
    orderId: reply.orderId ?? '',
    priceCents: toU64(reply.priceCents ?? 0, 'priceCents'),
    payBy: toU64(reply.payBy ?? 0, 'payBy'),
    state: reply.state ?? '',
    quantity: reply.quantity ?? 0,
    skuId: reply.skuId ?? 0,
    activityId: reply.activityId ?? 0,
    uid: toU64(reply.uid ?? 0, 'uid'),
  })
}

function replyFromMessage(reply: LedgerReplyMessage): LedgerReply {
  const { callId, quantity, skuId, activityId } = reply
  return {
    callId,
    outcome: oneOf(OUTCOME, reply.outcome, 'outcome'),
    orderId: boundedText(reply.orderId, 'orderId', ID_CHARS_MAX),
    priceCents: toNumber(reply.priceCents, 'priceCents'),
    payBy: toNumber(reply.payBy, 'payBy'),
    state: boundedText(reply.state, 'state', ID_CHARS_MAX),
    quantity,
    skuId,
    activityId,
    uid: toNumber(reply.uid, 'uid'),
  }
}

function oneOf<T extends number>(table: Readonly<Record<string, T>>, value: number, field: string): T {
  for (const known of Object.values(table)) if (known === value) return known
  throw malformed('BAD_VALUE', `${field} ${value} is not known`, { field, value })
}

function rowsWithin(rows: number): void {
  if (rows > LEDGER_ROWS_MAX)
    throw malformed('ROWS_EXCEEDED', `ledger rows ${rows} exceed ${LEDGER_ROWS_MAX}`, { rows })
}
