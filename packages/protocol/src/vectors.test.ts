import { readFileSync } from 'node:fs'
import type { AbuseVerdict } from '@bigtap/domain'
import { hashUid, slotOf } from '@bigtap/kernel'
import { expect, test } from 'vitest'
import {
  AccessColumns,
  type Ack,
  AskColumns,
  type Command,
  type CommandBatch,
  decodeAbuseVerdicts,
  decodeAccessBatch,
  decodeAck,
  decodeAckReport,
  decodeAskBatch,
  decodeCommandBatch,
  decodeGrantEvent,
  decodeHello,
  decodeLedgerCalls,
  decodeLedgerReplies,
  decodeOrderEvent,
  decodeVerdictBatch,
  encodeAbuseVerdicts,
  encodeAccessBatch,
  encodeAck,
  encodeAckReport,
  encodeAskBatch,
  encodeCommandBatch,
  encodeFrame,
  encodeGrantEvent,
  encodeHello,
  encodeLedgerCalls,
  encodeLedgerReplies,
  encodeOrderEvent,
  encodeVerdictBatch,
  FrameParser,
  type GrantEvent,
  type Kind,
  type LedgerCall,
  type LedgerReply,
  type NodeAck,
  type OrderEvent,
  ProtocolError,
  VerdictColumns,
} from './index.ts'

/** Golden bytes: what other programs rely on. They change only with a new major version. */
function vectors<T>(name: string): (T & { name: string; hex: string })[] {
  const list = JSON.parse(readFileSync(new URL(`../../../proto/vectors/${name}.json`, import.meta.url), 'utf8'))
  expect(list.length).toBeGreaterThan(0)
  return list
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const out = Buffer.alloc(4_096)

test('frames', () => {
  for (const { kind, correlation, body, hex: golden } of vectors<{ kind: Kind; correlation: number; body: string }>(
    'frame',
  )) {
    expect(hex(encodeFrame(kind, correlation, Buffer.from(body, 'hex')))).toBe(golden)
    const seen: unknown[] = []
    new FrameParser().push(Buffer.from(golden, 'hex'), (k, c, b) => seen.push([k, c, hex(b)]))
    expect(seen).toEqual([[kind, correlation, body]])
  }
})

test('ask batches', () => {
  type Row = { askId: number; uid: number; activityId: number; skuId: number; quantity: number }
  for (const { budgetMs, rows, hex: golden } of vectors<{ budgetMs: number; rows: Row[] }>('ask-batch')) {
    const batch = new AskColumns(64)
    decodeAskBatch(Buffer.from(golden, 'hex'), batch)
    const { askId, uid, activityId, skuId, quantity } = batch
    const back = Array.from({ length: batch.rows }, (_, at) => ({
      askId: askId[at],
      uid: uid[at],
      activityId: activityId[at],
      skuId: skuId[at],
      quantity: quantity[at],
    }))
    expect([batch.budgetMs, back]).toEqual([budgetMs, rows])
    expect(hex(out.subarray(0, encodeAskBatch(batch, out)))).toBe(golden)
  }
})

test('verdict batches', () => {
  type Row = {
    askId: number
    code: number
    token?: string
    tokenExpiresAt?: number
    retryAfterMs?: number
    place?: number
  }
  for (const { rows, shedFrom, hex: golden } of vectors<{ rows: Row[]; shedFrom?: number }>('verdict-batch')) {
    const batch = new VerdictColumns(64)
    decodeVerdictBatch(Buffer.from(golden, 'hex'), batch)
    expect([batch.rows, batch.shedFrom]).toEqual([rows.length, shedFrom ?? 0])
    rows.forEach((row, at) => {
      expect([
        batch.askId[at],
        batch.code[at],
        batch.retryAfterMs[at],
        batch.token[at],
        batch.tokenExpiresAt[at],
        batch.place[at],
      ]).toEqual([row.askId, row.code, row.retryAfterMs ?? 0, row.token ?? '', row.tokenExpiresAt ?? 0, row.place ?? 0])
    })
    expect(hex(out.subarray(0, encodeVerdictBatch(batch, out)))).toBe(golden)
  }
})

test('ledger calls and replies', () => {
  for (const { calls, hex: golden } of vectors<{ calls: LedgerCall[] }>('ledger-calls')) {
    expect(decodeLedgerCalls(Buffer.from(golden, 'hex'))).toEqual(calls)
    expect(hex(encodeLedgerCalls(calls))).toBe(golden)
  }
  for (const { replies, hex: golden } of vectors<{ replies: LedgerReply[] }>('ledger-replies')) {
    expect(decodeLedgerReplies(Buffer.from(golden, 'hex'))).toEqual(replies)
    expect(hex(encodeLedgerReplies(replies))).toBe(golden)
  }
})

test('order events', () => {
  for (const { event, hex: golden } of vectors<{ event: OrderEvent }>('order-event')) {
    expect(decodeOrderEvent(Buffer.from(golden, 'hex'))).toEqual(event)
    expect(hex(encodeOrderEvent(event))).toBe(golden)
  }
})

test('grant events', () => {
  for (const { event, hex: golden } of vectors<{ event: GrantEvent }>('grant-event')) {
    expect(decodeGrantEvent(Buffer.from(golden, 'hex'))).toEqual(event)
    expect(hex(encodeGrantEvent(event))).toBe(golden)
  }
})

test('batches of the request log', () => {
  const names = [
    'afterMs',
    'uid',
    'activityId',
    'skuId',
    'call',
    'outcome',
    'flags',
    'tier',
    'address',
    'device',
  ] as const
  type Row = Record<(typeof names)[number], number>
  type Vector = { nodeId: string; at: number; addresses: string[]; rows: Row[] }
  for (const { nodeId, at, addresses, rows, hex: golden } of vectors<Vector>('access-batch')) {
    const batch = new AccessColumns(64)
    decodeAccessBatch(Buffer.from(golden, 'hex'), batch)
    const back = Array.from({ length: batch.rows }, (_, row) =>
      Object.fromEntries(names.map((name) => [name, batch[name][row]])),
    )
    expect([batch.nodeId, batch.at, batch.addresses, back]).toEqual([nodeId, at, addresses, rows])
    expect(hex(encodeAccessBatch(batch))).toBe(golden)
  }
})

test('verdicts about abuse', () => {
  type Vector = { from: number; verdicts: AbuseVerdict[] }
  for (const { from, verdicts, hex: golden } of vectors<Vector>('abuse-verdict-batch')) {
    expect(decodeAbuseVerdicts(Buffer.from(golden, 'hex'))).toEqual({ from, verdicts })
    expect(hex(encodeAbuseVerdicts({ from, verdicts }))).toBe(golden)
  }
})

test('command batches', () => {
  type Row = Omit<Command, 'body'> & { body: string }
  for (const { batch, hex: golden } of vectors<{ batch: CommandBatch & { commands: Row[] } }>('command-batch')) {
    const back = decodeCommandBatch(Buffer.from(golden, 'hex'))
    const commands = back.commands.map((command) => ({ ...command, body: Buffer.from(command.body).toString() }))
    expect({ ...back, commands }).toEqual(batch)
    expect(hex(encodeCommandBatch(back))).toBe(golden)
  }
})

test('acks and their reports', () => {
  for (const { ack, hex: golden } of vectors<{ ack: Ack }>('ack')) {
    expect(decodeAck(Buffer.from(golden, 'hex'))).toEqual(ack)
    expect(hex(encodeAck(ack))).toBe(golden)
  }
  for (const { nodes, hex: golden } of vectors<{ nodes: NodeAck[] }>('ack-report')) {
    expect(decodeAckReport(Buffer.from(golden, 'hex'))).toEqual({ nodes })
    expect(hex(encodeAckReport({ nodes }))).toBe(golden)
  }
})

test('hellos', () => {
  for (const { nodeId, role, hex: golden } of vectors<{ nodeId: string; role: string }>('hello')) {
    const hello = decodeHello(Buffer.from(golden, 'hex'))
    expect([hello.nodeId, hello.role]).toEqual([nodeId, role])
    expect(hex(encodeHello(hello))).toBe(golden)
  }
})

test('the hash of a uid and its slot', () => {
  for (const { uid, hash, slot } of vectors<{ uid: number; hash: number; slot: number }>('uid-hash')) {
    expect([hashUid(uid), slotOf(uid)]).toEqual([hash, slot])
  }
})

test('every vector of a message, cut at every byte, is a message or a coded error', () => {
  const decoders: [string, (bytes: Uint8Array) => unknown][] = [
    ['ask-batch', (bytes) => decodeAskBatch(bytes, new AskColumns(64))],
    ['verdict-batch', (bytes) => decodeVerdictBatch(bytes, new VerdictColumns(64))],
    ['ledger-calls', decodeLedgerCalls],
    ['ledger-replies', decodeLedgerReplies],
    ['order-event', decodeOrderEvent],
    ['grant-event', decodeGrantEvent],
    ['access-batch', (bytes) => decodeAccessBatch(bytes, new AccessColumns(64))],
    ['abuse-verdict-batch', decodeAbuseVerdicts],
    ['command-batch', decodeCommandBatch],
    ['ack', decodeAck],
    ['ack-report', decodeAckReport],
    ['hello', decodeHello],
  ]
  for (const [name, decode] of decoders) {
    for (const { hex: golden } of vectors(name)) {
      const bytes = Buffer.from(golden, 'hex')
      for (let cut = 0; cut <= bytes.length; cut++) codedOnly(() => decode(bytes.subarray(0, cut)))
    }
  }
})

function codedOnly(decode: () => unknown): void {
  try {
    decode()
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
  }
}
