import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AskBatchSchema, VerdictBatchSchema } from './gen/ask_pb.ts'
import {
  AskColumns,
  askBatchBytesMax,
  decodeAskBatch,
  decodeVerdictBatch,
  encodeAskBatch,
  encodeVerdictBatch,
  ProtocolError,
  VerdictColumns,
  verdictBatchBytesMax,
} from './index.ts'
import { GRANTED } from './kind.ts'

const CAPACITY = 64
const u32 = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 0xffff_ffff }))
const u53 = fc.oneof(
  fc.integer({ min: 0, max: 300 }),
  fc.maxSafeNat(),
  fc.constant(Number.MAX_SAFE_INTEGER),
  fc.nat(2 ** 31 - 1),
)
const askRow = fc.record({ askId: u32, uid: u53, activityId: u32, skuId: u32, quantity: u32 })
const verdictRow = fc.record({
  askId: u32,
  code: fc.integer({ min: 1, max: 12 }),
  retryAfterMs: u32,
  ahead: u32,
  etaMs: u32,
  token: fc.string({ unit: 'grapheme-ascii', maxLength: 140 }),
  expiresAt: u53,
  place: fc.oneof(fc.constant(0), u32),
})

function asks(rows: { askId: number; uid: number; activityId: number; skuId: number; quantity: number }[]): AskColumns {
  const batch = new AskColumns(CAPACITY)
  for (const { askId, uid, activityId, skuId, quantity } of rows) batch.push(askId, uid, activityId, skuId, quantity)
  return batch
}

test('a batch of asks has the bytes of the generated codec, and comes back whole', () => {
  const out = Buffer.alloc(askBatchBytesMax(CAPACITY))
  const back = new AskColumns(CAPACITY)
  fc.assert(
    fc.property(fc.array(askRow, { maxLength: CAPACITY }), u32, (rows, budgetMs) => {
      const batch = asks(rows)
      batch.budgetMs = budgetMs
      const bytes = out.subarray(0, encodeAskBatch(batch, out))
      const generated = toBinary(
        AskBatchSchema,
        create(AskBatchSchema, {
          askId: rows.map((row) => row.askId),
          uid: rows.map((row) => BigInt(row.uid)),
          activityId: rows.map((row) => row.activityId),
          skuId: rows.map((row) => row.skuId),
          quantity: rows.map((row) => row.quantity),
          budgetMs,
        }),
      )
      expect(bytes.toString('hex')).toBe(Buffer.from(generated).toString('hex'))
      decodeAskBatch(bytes, back)
      expect(back.rows).toBe(rows.length)
      expect(back.budgetMs).toBe(budgetMs)
      expect(Array.from(back.uid.subarray(0, back.rows))).toEqual(rows.map((row) => row.uid))
      expect(Array.from(back.askId.subarray(0, back.rows))).toEqual(rows.map((row) => row.askId))
      expect(Array.from(back.quantity.subarray(0, back.rows))).toEqual(rows.map((row) => row.quantity))
    }),
    { seed: 1 },
  )
})

test('a batch of verdicts has the bytes of the generated codec, and its tokens come back in their rows', () => {
  const out = Buffer.alloc(verdictBatchBytesMax(CAPACITY))
  const batch = new VerdictColumns(CAPACITY)
  const back = new VerdictColumns(CAPACITY)
  fc.assert(
    fc.property(fc.array(verdictRow, { maxLength: CAPACITY }), fc.nat(96), (rows, shedFrom) => {
      batch.clear()
      batch.shedFrom = shedFrom
      for (const row of rows) {
        if (row.code === GRANTED) batch.pushGranted(row.askId, row.token, row.expiresAt)
        else batch.push(row.askId, row.code, row.retryAfterMs, row.ahead, row.etaMs, row.place)
      }
      const bytes = out.subarray(0, encodeVerdictBatch(batch, out))
      const granted = rows.filter((row) => row.code === GRANTED)
      const refusedOnly = (field: 'retryAfterMs' | 'ahead' | 'etaMs' | 'place') =>
        rows.map((row) => (row.code === GRANTED ? 0 : row[field]))
      const generated = toBinary(
        VerdictBatchSchema,
        create(VerdictBatchSchema, {
          askId: rows.map((row) => row.askId),
          code: rows.map((row) => row.code),
          retryAfterMs: refusedOnly('retryAfterMs'),
          ahead: refusedOnly('ahead'),
          etaMs: refusedOnly('etaMs'),
          token: granted.map((row) => row.token),
          tokenExpiresAt: granted.map((row) => BigInt(row.expiresAt)),
          shedFrom,
          place: refusedOnly('place').some((place) => place > 0) ? refusedOnly('place') : [],
        }),
      )
      expect(bytes.toString('hex')).toBe(Buffer.from(generated).toString('hex'))
      decodeVerdictBatch(bytes, back)
      expect(back.shedFrom).toBe(shedFrom)
      expect(Array.from(back.place.subarray(0, back.rows))).toEqual(refusedOnly('place'))
      expect(back.token.slice(0, back.rows)).toEqual(rows.map((row) => (row.code === GRANTED ? row.token : '')))
      expect(Array.from(back.tokenExpiresAt.subarray(0, back.rows))).toEqual(
        rows.map((row) => (row.code === GRANTED ? row.expiresAt : 0)),
      )
    }),
    { seed: 2 },
  )
})

test('a place for some of the rows only is refused', () => {
  const rows = { askId: [1, 2], code: [2, 2], retryAfterMs: [0, 0], ahead: [0, 0], etaMs: [0, 0] }
  const bytes = toBinary(VerdictBatchSchema, create(VerdictBatchSchema, { ...rows, place: [7] }))

  expect(codeOf(() => decodeVerdictBatch(bytes, new VerdictColumns(2)))).toBe('COLUMN_MISMATCH')
})

test('a uid over 2^53 - 1 is refused on both sides', () => {
  const message = create(AskBatchSchema, { askId: [1], uid: [2n ** 53n], activityId: [1], skuId: [1], quantity: [1] })
  const batch = new AskColumns(1)

  expect(() => decodeAskBatch(toBinary(AskBatchSchema, message), batch)).toThrow(/2\^53/)
  expect(batch.rows).toBe(0)
  expect(() =>
    encodeAskBatch(asks([{ askId: 1, uid: 2 ** 53, activityId: 1, skuId: 1, quantity: 1 }]), Buffer.alloc(99)),
  ).toThrow(/2\^53/)
})

test('columns of different length, and more rows than the batch holds, are refused', () => {
  const short = create(AskBatchSchema, { askId: [1, 2], uid: [1n], activityId: [1], skuId: [1], quantity: [1] })
  const long = create(AskBatchSchema, { askId: new Array<number>(CAPACITY + 1).fill(1) })
  const tokenless = create(VerdictBatchSchema, {
    askId: [1],
    code: [GRANTED],
    retryAfterMs: [0],
    ahead: [0],
    etaMs: [0],
  })

  expect(codeOf(() => decodeAskBatch(toBinary(AskBatchSchema, short), new AskColumns(CAPACITY)))).toBe(
    'COLUMN_MISMATCH',
  )
  expect(codeOf(() => decodeAskBatch(toBinary(AskBatchSchema, long), new AskColumns(CAPACITY)))).toBe('ROWS_EXCEEDED')
  expect(codeOf(() => decodeVerdictBatch(toBinary(VerdictBatchSchema, tokenless), new VerdictColumns(1)))).toBe(
    'COLUMN_MISMATCH',
  )
})

test('fields of a newer minor version are skipped, and unpacked values are read', () => {
  const out = Buffer.alloc(64)
  const end = encodeAskBatch(asks([{ askId: 1, uid: 2, activityId: 3, skuId: 4, quantity: 5 }]), out)
  const newer = Buffer.concat([out.subarray(0, end), Buffer.from('7a03616263' + 'f80196' + '01', 'hex')])
  const unpacked = Buffer.from('0801100218032004' + '2805', 'hex')
  const batch = new AskColumns(1)

  for (const bytes of [newer, unpacked]) {
    decodeAskBatch(bytes, batch)
    expect([batch.rows, batch.askId[0], batch.uid[0], batch.quantity[0]]).toEqual([1, 1, 2, 5])
  }
})

test('whatever bytes come, the answer is a batch or a coded error, as the generated codec would have it', () => {
  const ask = new AskColumns(CAPACITY)
  const verdict = new VerdictColumns(CAPACITY)
  const out = Buffer.alloc(verdictBatchBytesMax(CAPACITY))
  const mutated = fc
    .tuple(
      fc.array(askRow, { maxLength: 8 }),
      fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 4 }),
      fc.nat(400),
    )
    .map(([rows, changes, cut]) => {
      const bytes = Buffer.from(out.subarray(0, encodeAskBatch(asks(rows), out)))
      for (const [at, byte] of changes) if (at < bytes.length) bytes[at] = byte
      return bytes.subarray(0, cut)
    })
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), mutated), (bytes) => {
      const isAsk = accepts(() => decodeAskBatch(bytes, ask))
      accepts(() => decodeVerdictBatch(bytes, verdict))
      if (isAsk) expect(fromBinary(AskBatchSchema, bytes).askId).toHaveLength(ask.rows)
      else expect(ask.rows).toBe(0)
    }),
    { seed: 3, numRuns: 3_000 },
  )
})

test('encode and decode take 0 bytes per ask', () => {
  setFlagsFromString('--expose_gc')
  const gc = runInNewContext('gc') as () => void
  const batch = new AskColumns(CAPACITY)
  const back = new AskColumns(CAPACITY)
  const verdicts = new VerdictColumns(CAPACITY)
  const verdictsBack = new VerdictColumns(CAPACITY)
  const out = Buffer.alloc(askBatchBytesMax(CAPACITY))
  for (let row = 0; row < CAPACITY; row++) {
    batch.push(4_000_000_000 + row, Number.MAX_SAFE_INTEGER - row, 3, 400, 1)
    verdicts.push(4_000_000_000 + row, 3, 4_000_000_000, 0, 0)
  }
  const views = Array.from({ length: out.length + 1 }, (_, length) => out.subarray(0, length))
  const run = (batches: number) => {
    for (let i = 0; i < batches; i++) {
      decodeAskBatch(views[encodeAskBatch(batch, out)] as Uint8Array, back)
      decodeVerdictBatch(views[encodeVerdictBatch(verdicts, out)] as Uint8Array, verdictsBack)
    }
  }
  run(20_000)

  // The least of five rounds: the compiler's own garbage falls into some, garbage per ask would be in each.
  let bytesPerAsk = Number.POSITIVE_INFINITY
  for (let round = 0; round < 5; round++) {
    gc()
    const before = process.memoryUsage().heapUsed
    run(1_000)
    bytesPerAsk = Math.min(bytesPerAsk, (process.memoryUsage().heapUsed - before) / (1_000 * CAPACITY))
  }

  expect(bytesPerAsk).toBeLessThan(0.5)
})

function accepts(decode: () => void): boolean {
  try {
    decode()
    return true
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    return false
  }
}

function codeOf(decode: () => void): string | undefined {
  try {
    decode()
    return undefined
  } catch (error) {
    return error instanceof ProtocolError ? error.code : String(error)
  }
}
