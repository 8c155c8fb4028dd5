import { create } from '@bufbuild/protobuf'
import { boundedText, decodeMessage, encodeMessage, toNumber, toU64 } from './checked.ts'
import { GrantEventSchema } from './gen/event_pb.ts'
import { ID_CHARS_MAX } from './ledger-messages.ts'
import { NAME_CHARS_MAX } from './link-messages.ts'
import { malformed } from './protocol-error.ts'

/** Value of the topic `grants`, keyed by uid: a grant as it was written. Times in ms since the epoch. */
export interface GrantEvent {
  readonly tokenId: string
  readonly activityId: number
  readonly skuId: number
  readonly uid: number
  readonly quantity: number
  readonly expiresAt: number
  readonly at: number
  /** The Middle node that gave it. */
  readonly nodeId: string
}

/** Writes an event as the value of a record. */
export function encodeGrantEvent(event: GrantEvent): Uint8Array {
  const message = create(GrantEventSchema, {
    ...event,
    uid: toU64(event.uid, 'uid'),
    expiresAt: toU64(event.expiresAt, 'expiresAt'),
    at: toU64(event.at, 'at'),
  })
  return encodeMessage(GrantEventSchema, message)
}

/** Throws a ProtocolError for an empty token id, a number over 2^53 - 1, and a text over 64 characters. */
export function decodeGrantEvent(bytes: Uint8Array): GrantEvent {
  const { tokenId, activityId, skuId, uid, quantity, expiresAt, at, nodeId } = decodeMessage(GrantEventSchema, bytes)
  if (tokenId === '') throw malformed('BAD_VALUE', 'event names no token', {})
  return {
    tokenId: boundedText(tokenId, 'tokenId', ID_CHARS_MAX),
    activityId,
    skuId,
    uid: toNumber(uid, 'uid'),
    quantity,
    expiresAt: toNumber(expiresAt, 'expiresAt'),
    at: toNumber(at, 'at'),
    nodeId: boundedText(nodeId, 'nodeId', NAME_CHARS_MAX),
  }
}
