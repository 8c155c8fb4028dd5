import { create } from '@bufbuild/protobuf'
import { boundedText, decodeMessage, encodeMessage, toNumber, toU64 } from './checked.ts'
import { OrderEventSchema } from './gen/event_pb.ts'
import { ID_CHARS_MAX } from './ledger-messages.ts'
import { malformed } from './protocol-error.ts'

const ORDER_EVENT_TYPES = ['held', 'paid', 'expired', 'cancelled'] as const
/** What happened to an order. */
export type OrderEventType = (typeof ORDER_EVENT_TYPES)[number]

/** Value of the topic `orders`, keyed by order: the order as it is after the event. Times in ms since the epoch. */
export interface OrderEvent {
  orderId: string
  activityId: number
  skuId: number
  uid: number
  quantity: number
  priceCents: number
  currency: string
  type: OrderEventType
  /** Of the order: held 1, later ones 2 and up. */
  version: number
  /** Of the activity's outbox, without gaps. */
  seq: number
  at: number
  payBy: number
  tokenId: string
}

/** Writes an event as the value of a record. */
export function encodeOrderEvent(event: OrderEvent): Uint8Array {
  const message = create(OrderEventSchema, {
    ...event,
    uid: toU64(event.uid, 'uid'),
    priceCents: toU64(event.priceCents, 'priceCents'),
    seq: toU64(event.seq, 'seq'),
    at: toU64(event.at, 'at'),
    payBy: toU64(event.payBy, 'payBy'),
  })
  return encodeMessage(OrderEventSchema, message)
}

/** Throws a ProtocolError for an unknown type, an empty order id, a number over 2^53 - 1 or an id over 64 characters. */
export function decodeOrderEvent(bytes: Uint8Array): OrderEvent {
  const message = decodeMessage(OrderEventSchema, bytes)
  const { activityId, skuId, quantity, version } = message
  if (message.orderId === '') throw malformed('BAD_VALUE', 'event names no order', {})
  return {
    orderId: boundedText(message.orderId, 'orderId', ID_CHARS_MAX),
    activityId,
    skuId,
    uid: toNumber(message.uid, 'uid'),
    quantity,
    priceCents: toNumber(message.priceCents, 'priceCents'),
    currency: boundedText(message.currency, 'currency', 3),
    type: typeOf(message.type),
    version,
    seq: toNumber(message.seq, 'seq'),
    at: toNumber(message.at, 'at'),
    payBy: toNumber(message.payBy, 'payBy'),
    tokenId: boundedText(message.tokenId, 'tokenId', ID_CHARS_MAX),
  }
}

function typeOf(text: string): OrderEventType {
  for (const type of ORDER_EVENT_TYPES) if (type === text) return type
  throw malformed('BAD_VALUE', 'event type is not known', { type: text.slice(0, ID_CHARS_MAX) })
}
