import { create, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GrantEventSchema, OrderEventSchema } from './gen/event_pb.ts'
import { LedgerCallsSchema } from './gen/ledger_pb.ts'
import {
  decodeError,
  decodeGoodbye,
  decodeGrantEvent,
  decodeHello,
  decodeLedgerCalls,
  decodeLedgerReplies,
  decodeOrderEvent,
  decodePing,
  decodePong,
  encodeError,
  encodeGoodbye,
  encodeLedgerCalls,
  encodePing,
  encodePong,
  OUTCOME,
  ProtocolError,
  VERB,
} from './index.ts'

const codeOf = (decode: () => unknown): string | undefined => {
  try {
    decode()
    return undefined
  } catch (error) {
    return error instanceof ProtocolError ? error.code : String(error)
  }
}

test('ping, pong, goodbye and error come back as they went', () => {
  expect(decodePing(encodePing(1_800_000_000_000))).toBe(1_800_000_000_000)
  expect(decodePong(encodePong({ sentAt: 1, now: 2 }))).toEqual({ sentAt: 1, now: 2 })
  expect(decodeGoodbye(encodeGoodbye('stops'))).toBe('stops')
  expect(decodeError(encodeError({ code: 'X', message: 'y' }))).toEqual({ code: 'X', message: 'y' })
})

test('a number over 2^53 - 1 is refused, and so are a negative and a broken one', () => {
  const event = create(OrderEventSchema, { orderId: 'o', type: 'held', uid: 2n ** 53n })
  const grant = create(GrantEventSchema, { tokenId: 't', uid: 2n ** 53n })
  const call = create(LedgerCallsSchema, { calls: [{ verb: 1, uid: 2n ** 64n - 1n }] })

  expect(codeOf(() => decodeOrderEvent(toBinary(OrderEventSchema, event)))).toBe('NUMBER_TOO_LARGE')
  expect(codeOf(() => decodeGrantEvent(toBinary(GrantEventSchema, grant)))).toBe('NUMBER_TOO_LARGE')
  expect(codeOf(() => decodeLedgerCalls(toBinary(LedgerCallsSchema, call)))).toBe('NUMBER_TOO_LARGE')
  for (const uid of [2 ** 53, -1, 0.5, Number.NaN]) {
    expect(codeOf(() => encodeLedgerCalls([{ verb: VERB.reserve, callId: 1, uid }]))).toBe('NUMBER_TOO_LARGE')
  }
  expect(codeOf(() => encodeLedgerCalls([{ verb: VERB.reserve, callId: -1 }]))).toBe('BAD_VALUE')
})

test('unknown verbs, unknown event types, long ids and too many rows are refused', () => {
  const calls = (init: { verb?: number; tokenId?: string }[]) =>
    toBinary(LedgerCallsSchema, create(LedgerCallsSchema, { calls: init }))
  const event = (init: { orderId?: string; type?: string }) =>
    toBinary(OrderEventSchema, create(OrderEventSchema, init))

  expect(codeOf(() => decodeLedgerCalls(calls([{ verb: 9 }])))).toBe('BAD_VALUE')
  expect(codeOf(() => decodeLedgerCalls(calls([{ verb: 1, tokenId: 'x'.repeat(65) }])))).toBe('BAD_TEXT')
  expect(codeOf(() => decodeLedgerCalls(calls(new Array(1_025).fill({ verb: 1 }))))).toBe('ROWS_EXCEEDED')
  expect(codeOf(() => decodeOrderEvent(event({ orderId: 'o', type: 'sold' })))).toBe('BAD_VALUE')
  expect(codeOf(() => decodeOrderEvent(event({ type: 'held' })))).toBe('BAD_VALUE')
  expect(codeOf(() => decodeGrantEvent(toBinary(GrantEventSchema, create(GrantEventSchema, {}))))).toBe('BAD_VALUE')
})

test('whatever bytes come, the answer is a message or a coded error', () => {
  const decoders = [
    decodeHello,
    decodePing,
    decodePong,
    decodeGoodbye,
    decodeError,
    decodeLedgerCalls,
    decodeLedgerReplies,
    decodeOrderEvent,
    decodeGrantEvent,
  ]
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => {
      for (const decode of decoders) expect(codeOf(() => decode(bytes)) ?? 'fine').toMatch(/^[A-Z_]+$|^fine$/)
    }),
    { seed: 4, numRuns: 1_000 },
  )
})

test('a number stands for one thing', () => {
  for (const table of [VERB, OUTCOME]) expect(new Set(Object.values(table)).size).toBe(Object.keys(table).length)
})
