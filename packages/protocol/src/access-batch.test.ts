import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AccessBatchSchema } from './gen/event_pb.ts'
import { ACCESS_FLAG, AccessColumns, decodeAccessBatch, encodeAccessBatch, ProtocolError } from './index.ts'

const CAPACITY = 64
const u32 = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 0xffff_ffff }))
const u53 = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.maxSafeNat(), fc.constant(Number.MAX_SAFE_INTEGER))
const ADDRESSES = ['127.0.0.1', '203.0.113.250', '2001:db8::1', '']
const row = fc.record({
  afterMs: u32,
  uid: u53,
  activityId: u32,
  skuId: u32,
  call: fc.integer({ min: 1, max: 4 }),
  outcome: fc.integer({ min: 1, max: 15 }),
  flags: fc.integer({ min: 0, max: 255 }),
  tier: fc.integer({ min: 0, max: 5 }),
  address: fc.integer({ min: 0, max: ADDRESSES.length - 1 }),
  device: u53,
})
type Row = typeof row extends fc.Arbitrary<infer R> ? R : never
const rowsOf = fc.array(row, { minLength: ADDRESSES.length, maxLength: CAPACITY })

function access(rows: readonly Row[], nodeId = 'limiter-1', at = 1_800_000_000_000): AccessColumns {
  const batch = new AccessColumns(CAPACITY)
  batch.nodeId = nodeId
  batch.at = at
  batch.rows = rows.length
  for (const [index, values] of rows.entries()) {
    for (const [name, value] of Object.entries(values)) batch[name as keyof Row][index] = value
  }
  batch.addresses.push(...(rows.length === 0 ? [] : ADDRESSES))
  return batch
}

test('a batch of the request log has the bytes of the generated codec, and comes back whole', () => {
  const back = new AccessColumns(CAPACITY)
  fc.assert(
    fc.property(rowsOf, fc.string({ unit: 'grapheme-ascii', maxLength: 60 }), u53, (rows, nodeId, at) => {
      const bytes = encodeAccessBatch(access(rows, nodeId, at))
      const generated = toBinary(
        AccessBatchSchema,
        create(AccessBatchSchema, {
          nodeId,
          at: BigInt(at),
          afterMs: rows.map((r) => r.afterMs),
          uid: rows.map((r) => BigInt(r.uid)),
          activityId: rows.map((r) => r.activityId),
          skuId: rows.map((r) => r.skuId),
          call: rows.map((r) => r.call),
          outcome: rows.map((r) => r.outcome),
          flags: rows.map((r) => r.flags),
          tier: rows.map((r) => r.tier),
          address: rows.map((r) => r.address),
          addresses: ADDRESSES,
          device: rows.map((r) => BigInt(r.device)),
        }),
      )
      expect(Buffer.from(bytes).toString('hex')).toBe(Buffer.from(generated).toString('hex'))
      decodeAccessBatch(bytes, back)
      expect([back.rows, back.nodeId, back.at, back.addresses]).toEqual([rows.length, nodeId, at, ADDRESSES])
      for (const name of Object.keys(rows[0] ?? {}) as (keyof Row)[]) {
        expect(Array.from(back[name].subarray(0, back.rows))).toEqual(rows.map((r) => r[name]))
      }
    }),
    { seed: 1 },
  )
})

test('a batch without rows is nothing but its header', () => {
  const back = access([], 'limiter-2')

  decodeAccessBatch(encodeAccessBatch(new AccessColumns(1)), back)

  expect([back.rows, back.nodeId, back.at, back.addresses]).toEqual([0, '', 0, []])
})

test('a tier over 5, an address that is not listed, and a call or an outcome of 0 are refused', () => {
  const fine: Row = {
    afterMs: 0,
    uid: 7,
    activityId: 1,
    skuId: 1,
    call: 1,
    outcome: 1,
    flags: ACCESS_FLAG.honeypot,
    tier: 5,
    address: 0,
    device: 0,
  }
  const bad: Partial<Row>[] = [
    { tier: 6 },
    { address: 4 },
    { call: 0 },
    { outcome: 0 },
    { outcome: 32 },
    { flags: 65_536 },
  ]

  for (const change of bad) {
    const bytes = encodeAccessBatch(access([fine, fine, fine, { ...fine, ...change }]))
    const batch = new AccessColumns(CAPACITY)
    expect(
      codeOf(() => decodeAccessBatch(bytes, batch)),
      JSON.stringify(change),
    ).toBe('BAD_VALUE')
    expect(batch.rows).toBe(0)
  }
})

test('columns that differ, too many rows, too many addresses and long or foreign texts are refused', () => {
  const encode = (init: Parameters<typeof create<typeof AccessBatchSchema>>[1]) =>
    toBinary(AccessBatchSchema, create(AccessBatchSchema, init))
  const decode = (bytes: Uint8Array) => codeOf(() => decodeAccessBatch(bytes, new AccessColumns(4)))
  const long = access([])
  long.nodeId = 'n'.repeat(65)

  expect(decode(encode({ afterMs: [1] }))).toBe('COLUMN_MISMATCH')
  expect(decode(encode({ addresses: ['127.0.0.1'] }))).toBe('COLUMN_MISMATCH')
  expect(decode(encode({ afterMs: [1, 1, 1, 1, 1] }))).toBe('ROWS_EXCEEDED')
  expect(decode(encode({ addresses: ['a', 'b', 'c', 'd', 'e'] }))).toBe('ROWS_EXCEEDED')
  expect(decode(encode({ addresses: ['1'.repeat(46)] }))).toBe('BAD_TEXT')
  expect(decode(encode({ addresses: ['é'] }))).toBe('BAD_TEXT')
  expect(decode(encode({ uid: [2n ** 53n] }))).toBe('NUMBER_TOO_LARGE')
  expect(codeOf(() => encodeAccessBatch(long))).toBe('BAD_TEXT')
})

test('fields of a newer minor version are skipped', () => {
  const bytes = encodeAccessBatch(access([], 'limiter-1', 5))
  const back = new AccessColumns(1)

  decodeAccessBatch(Buffer.concat([bytes, Buffer.from('7a03616263f8019601', 'hex')]), back)

  expect([back.nodeId, back.at]).toEqual(['limiter-1', 5])
})

test('whatever bytes of a request log come, the answer is a batch or a coded error', () => {
  const back = new AccessColumns(CAPACITY)
  const mutated = fc
    .tuple(rowsOf, fc.array(fc.tuple(fc.nat(600), fc.nat(255)), { maxLength: 4 }), fc.nat(600))
    .map(([rows, changes, cut]) => {
      const bytes = encodeAccessBatch(access(rows.slice(0, 8)))
      for (const [at, byte] of changes) if (at < bytes.length) bytes[at] = byte
      return bytes.subarray(0, cut)
    })
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), mutated), (bytes) => {
      const code = codeOf(() => decodeAccessBatch(bytes, back))
      expect(code ?? 'fine').toMatch(/^[A-Z_]+$|^fine$/)
      if (code === undefined) expect(fromBinary(AccessBatchSchema, bytes).afterMs).toHaveLength(back.rows)
      else expect(back.rows).toBe(0)
    }),
    { seed: 2, numRuns: 2_000 },
  )
})

function codeOf(run: () => unknown): string | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    return error instanceof ProtocolError ? error.code : String(error)
  }
}
