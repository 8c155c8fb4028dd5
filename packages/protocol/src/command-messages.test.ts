import { DOCUMENT_BYTES_MAX } from '@bigtap/domain'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AckReportSchema, CommandBatchSchema } from './gen/command_pb.ts'
import {
  BODY_BYTES_MAX,
  COMMANDS_MAX,
  type Command,
  type CommandBatch,
  decodeAck,
  decodeAckReport,
  decodeCommandBatch,
  encodeAck,
  encodeAckReports,
  encodeCommandBatch,
  encodeCommandBatches,
  type NodeAck,
  ProtocolError,
  REFUSED_MAX,
} from './index.ts'

const command = (sequence: number, init: Partial<Command> = {}): Command => ({
  ...{ sequence, key: `status:1:${sequence}`, revision: sequence, body: Buffer.from('{}') },
  ...{ isUrgent: false, isDeleted: false, isTrial: false, isPull: false, nodes: [] },
  ...init,
})
const ACK = { epoch: 3, upTo: 9, revision: 20, digest: '0a1b2c3d', eventLoopMs: 1.5, refused: [], ahead: [11] }

const codeOf = (decode: () => unknown): string | undefined => {
  try {
    decode()
    return undefined
  } catch (error) {
    return error instanceof ProtocolError ? error.code : String(error)
  }
}

describe('a batch of commands', () => {
  test('comes back as it went', () => {
    const commands = [
      command(5),
      command(7, { isUrgent: true, isPull: true, body: Buffer.alloc(0) }),
      command(9, { key: 'call:clear', isTrial: true, isDeleted: true, nodes: ['limiter-1', 'middle-1'] }),
    ]
    const back = decodeCommandBatch(encodeCommandBatch({ epoch: 2, since: 4, upTo: 9, head: 30, commands }))

    expect({ ...back, commands: back.commands.map((one) => ({ ...one, body: Buffer.from(one.body) })) }).toEqual({
      ...{ epoch: 2, since: 4, upTo: 9, head: 30 },
      commands,
    })
  })

  test('has the bytes of the generated codec, though each command is encoded alone', () => {
    const bytes = encodeCommandBatch({ epoch: 1, since: 0, upTo: 200, head: 1, commands: [command(1), command(200)] })
    const row = (sequence: number) => ({
      sequence: BigInt(sequence),
      key: `status:1:${sequence}`,
      revision: BigInt(sequence),
      body: Buffer.from('{}'),
    })
    const whole = create(CommandBatchSchema, { epoch: 1n, upTo: 200n, head: 1n, commands: [row(1), row(200)] })

    expect(Buffer.from(bytes)).toEqual(Buffer.from(toBinary(CommandBatchSchema, whole)))
  })

  test.each([
    [
      'too many commands',
      'ROWS_EXCEEDED',
      { commands: Array.from({ length: COMMANDS_MAX + 1 }, (_, n) => command(n + 1)) },
    ],
    ['a long key', 'BAD_TEXT', { commands: [command(1, { key: 'x'.repeat(129) })] }],
    ['no key', 'BAD_VALUE', { commands: [command(1, { key: '' })] }],
    [
      'a body over 64 KiB',
      'LENGTH_EXCEEDED',
      { commands: [command(1, { body: Buffer.alloc(DOCUMENT_BYTES_MAX + 1) })] },
    ],
    ['too many nodes', 'ROWS_EXCEEDED', { commands: [command(1, { nodes: Array(257).fill('n') })] }],
    ['since after upTo', 'BAD_VALUE', { since: 9, upTo: 8 }],
    ['a sequence twice', 'BAD_VALUE', { commands: [command(2), command(2)] }],
    ['a sequence that was covered before', 'BAD_VALUE', { since: 2, commands: [command(2)] }],
    ['a sequence beyond upTo', 'BAD_VALUE', { commands: [command(9_000)] }],
    ['a negative epoch', 'NUMBER_TOO_LARGE', { epoch: -1 }],
  ])('with %s is not written', (_what, code, init) => {
    const batch = { epoch: 1, since: 0, upTo: 8_000, head: 0, commands: [], ...init }
    expect(codeOf(() => encodeCommandBatch(batch))).toBe(code)
  })

  test('that breaks a bound is not read either', () => {
    const bytes = (init: object) => toBinary(CommandBatchSchema, create(CommandBatchSchema, init))

    expect(codeOf(() => decodeCommandBatch(bytes({ since: 2n, upTo: 1n })))).toBe('BAD_VALUE')
    expect(codeOf(() => decodeCommandBatch(bytes({ epoch: 2n ** 60n })))).toBe('NUMBER_TOO_LARGE')
    expect(codeOf(() => decodeCommandBatch(bytes({ upTo: 1n, commands: [{ sequence: 1n }] })))).toBe('BAD_VALUE')
    const large = { sequence: 1n, key: 'a', body: Buffer.alloc(DOCUMENT_BYTES_MAX + 1) }
    expect(codeOf(() => decodeCommandBatch(bytes({ upTo: 1n, commands: [large] })))).toBe('LENGTH_EXCEEDED')
  })

  test('that is too large for one frame is cut, and each frame says how far it goes', () => {
    const commands = Array.from({ length: 40 }, (_, n) => command(10 + n, { body: Buffer.alloc(60_000) }))
    const frames = encodeCommandBatches({ epoch: 1, since: 9, upTo: 60, head: 5, commands })
    const batches = frames.map(decodeCommandBatch)

    expect(frames.length).toBeGreaterThan(2)
    expect(Math.max(...frames.map((one) => one.length))).toBeLessThan(BODY_BYTES_MAX)
    expect(batches.flatMap((one) => one.commands.map(({ sequence }) => sequence))).toEqual(
      commands.map(({ sequence }) => sequence),
    )
    expect(batches.map((one) => one.since)).toEqual([9, ...batches.slice(0, -1).map((one) => one.upTo)])
    expect(batches.at(-1)?.upTo).toBe(60)
  })

  test('ahead of the others covers nothing, in however many frames it goes', () => {
    const commands = Array.from({ length: 10 }, (_, n) => command(50 + n, { body: Buffer.alloc(60_000) }))
    const batches = encodeCommandBatches({ epoch: 1, since: 9, upTo: 9, head: 5, commands }).map(decodeCommandBatch)

    expect(batches.length).toBeGreaterThan(1)
    for (const { since, upTo } of batches) expect([since, upTo]).toEqual([9, 9])
  })

  test('without commands is one frame', () => {
    expect(encodeCommandBatches({ epoch: 1, since: 1, upTo: 1, head: 5, commands: [] })).toHaveLength(1)
  })
})

test('what is read from any bytes is what the generated codec reads', () => {
  const row = fc.record({
    key: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
    revision: fc.maxSafeNat(),
    body: fc.uint8Array({ maxLength: 40 }),
    isUrgent: fc.boolean(),
    isDeleted: fc.boolean(),
    isTrial: fc.boolean(),
    isPull: fc.boolean(),
    nodes: fc.array(fc.string({ maxLength: 8 }), { maxLength: 3 }),
  })
  const change = fc.tuple(fc.nat(300), fc.nat(255))
  fc.assert(
    fc.property(
      fc.array(row, { maxLength: 6 }),
      fc.array(change, { maxLength: 3 }),
      fc.nat(400),
      (rows, changes, cut) => {
        const commands = rows.map((one, at) => ({ ...one, sequence: 200 + at * 150 }))
        const bytes = Buffer.from(encodeCommandBatch({ epoch: 3, since: 100, upTo: 5_000, head: 2 ** 40, commands }))
        for (const [at, byte] of changes) if (at < bytes.length) bytes[at] = byte
        const some = bytes.subarray(0, cut)
        let batch: CommandBatch
        try {
          batch = decodeCommandBatch(some)
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError)
          return
        }
        const generated = fromBinary(CommandBatchSchema, some)
        expect([batch.epoch, batch.since, batch.upTo, batch.head]).toEqual(
          [generated.epoch, generated.since, generated.upTo, generated.head].map(Number),
        )
        expect(batch.commands.map((one) => [one.key, Buffer.from(one.body), one.isUrgent, one.nodes])).toEqual(
          generated.commands.map((one) => [one.key, Buffer.from(one.body), one.urgent, one.nodes]),
        )
      },
    ),
    { seed: 6, numRuns: 1_500 },
  )
})

describe('acks', () => {
  const node = (nodeId: string, init: Partial<NodeAck> = {}): NodeAck => ({
    ...{ ...ACK, nodeId, role: 'limiter', isGone: false, clockOffsetMs: -3.5, roundTripMs: 0.25 },
    ...init,
  })

  test('come back as they went, alone and in a report', () => {
    const refused = [{ key: 'sku:1:2', revision: 4, error: 'stock is no number' }]
    const nodes = [node('l1', { refused }), node('m1', { isGone: true })]

    expect(decodeAck(encodeAck({ ...ACK, refused }))).toEqual({ ...ACK, refused })
    expect(encodeAckReports(nodes).map(decodeAckReport)).toEqual([{ nodes }])
    expect(encodeAckReports([])).toEqual([])
  })

  test('a node with many refusals names the first, with errors of bounded length', () => {
    const refused = Array.from({ length: 500 }, (_, n) => ({ key: `k${n}`, revision: n, error: 'x'.repeat(5_000) }))
    const back = decodeAck(encodeAck({ ...ACK, refused }))

    expect(back.refused).toHaveLength(REFUSED_MAX)
    expect(back.refused[0]).toEqual({ key: 'k0', revision: 0, error: 'x'.repeat(256) })
  })

  test('of very many nodes go in several reports', () => {
    const refused = Array.from({ length: REFUSED_MAX }, (_, n) => ({
      key: `k${n}`,
      revision: n,
      error: 'x'.repeat(256),
    }))
    const nodes = Array.from({ length: 1_500 }, (_, n) => node(`n${n}`, n < 200 ? { refused } : {}))
    const bodies = encodeAckReports(nodes)

    expect(Math.max(...bodies.map((one) => one.length))).toBeLessThanOrEqual(BODY_BYTES_MAX)
    expect(bodies.flatMap((one) => decodeAckReport(one).nodes.map(({ nodeId }) => nodeId))).toEqual(
      nodes.map(({ nodeId }) => nodeId),
    )
  })

  test('without a node, without an ack or with a figure that is none are refused', () => {
    const bytes = (row: object) => toBinary(AckReportSchema, create(AckReportSchema, { nodes: [row] }))

    expect(codeOf(() => decodeAckReport(bytes({ ack: {} })))).toBe('BAD_VALUE')
    expect(codeOf(() => decodeAckReport(bytes({ nodeId: 'a' })))).toBe('BAD_VALUE')
    expect(codeOf(() => decodeAckReport(bytes({ nodeId: 'a', ack: {}, clockOffsetMs: Number.NaN })))).toBe('BAD_VALUE')
  })
})

test('whatever bytes come, the answer is a message or a coded error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => {
      for (const decode of [decodeCommandBatch, decodeAck, decodeAckReport]) {
        expect(codeOf(() => decode(bytes)) ?? 'fine').toMatch(/^[A-Z_]+$|^fine$/)
      }
    }),
    { seed: 4, numRuns: 1_000 },
  )
})
