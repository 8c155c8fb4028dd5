import { readFileSync } from 'node:fs'
import { create, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { StatsSchema } from './gen/stats_pb.ts'
import { decodeStats, encodeStats, ProtocolError, STATS_SKUS_MAX, type Stats } from './index.ts'

const golden: { name: string; stats: Stats; hex: string }[] = JSON.parse(
  readFileSync(new URL('../../../proto/vectors/stats.json', import.meta.url), 'utf8'),
)
const nothing: Stats = { nodeId: 'n', role: 'limiter', at: 0, figures: {}, labels: {}, skus: [] }
const sku = (figures: Record<string, number>, state = '') => ({ activityId: 1, skuId: 1, state, figures })

const f64 = (...values: number[]) => new Uint8Array(new Float64Array(values).buffer)

const codeOf = (work: () => unknown): string => {
  try {
    work()
    return 'fine'
  } catch (error) {
    return error instanceof ProtocolError ? error.code : String(error)
  }
}

test('stats have their golden bytes', () => {
  expect(golden.length).toBeGreaterThan(0)
  for (const { stats, hex } of golden) {
    expect(Buffer.from(encodeStats(stats)).toString('hex')).toBe(hex)
    expect(decodeStats(Buffer.from(hex, 'hex'))).toEqual(stats)
  }
})

test('stats cut at every byte are stats or a coded error', () => {
  for (const { hex } of golden) {
    const bytes = Buffer.from(hex, 'hex')
    for (let cut = 0; cut <= bytes.length; cut++)
      expect(codeOf(() => decodeStats(bytes.subarray(0, cut)))).toMatch(/^[A-Z_]+$|^fine$/)
  }
})

test('whatever bytes come, the answer is stats or a coded error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(codeOf(() => decodeStats(bytes))).toMatch(/^[A-Z_]+$|^fine$/)
    }),
    { seed: 11, numRuns: 1_000 },
  )
})

test('stats of as many SKUs as there may be, with a dozen figures each, fit into one frame', () => {
  const names = Array.from({ length: 12 }, (_, index) => `figure${index}`)
  const figures = Object.fromEntries(names.map((name, index) => [name, index * 1_000_000.5]))
  const skus = Array.from({ length: STATS_SKUS_MAX }, (_, index) => ({
    ...sku(figures, 'releasing'),
    ...{ activityId: 2 ** 40 + index, skuId: index + 1 },
  }))

  expect(decodeStats(encodeStats({ ...nothing, skus }))).toEqual({ ...nothing, skus })
})

test('a figure that only some SKUs have stays with them', () => {
  const skus = [sku({ granted: 1 }), { ...sku({ granted: 2, free: 3 }, 'releasing'), skuId: 2 }]

  expect(decodeStats(encodeStats({ ...nothing, skus }))).toEqual({ ...nothing, skus })
})

test('too many, too long, not finite: refused when written', () => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, 1]))

  expect(codeOf(() => encodeStats({ ...nothing, figures: many(65) }))).toBe('ROWS_EXCEEDED')
  expect(codeOf(() => encodeStats({ ...nothing, skus: new Array(4_097).fill(sku({})) }))).toBe('ROWS_EXCEEDED')
  expect(codeOf(() => encodeStats({ ...nothing, figures: { ['x'.repeat(65)]: 1 } }))).toBe('BAD_TEXT')
  expect(codeOf(() => encodeStats({ ...nothing, figures: { 'a b': 1 } }))).toBe('BAD_TEXT')
  expect(codeOf(() => encodeStats({ ...nothing, labels: { digest: 'x'.repeat(257) } }))).toBe('BAD_TEXT')
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY])
    expect(codeOf(() => encodeStats({ ...nothing, figures: { cpu: value } }))).toBe('BAD_VALUE')
})

test('the same is refused when read, and so are columns that do not fit', () => {
  const read = (init: Parameters<typeof create<typeof StatsSchema>>[1]) =>
    codeOf(() => decodeStats(toBinary(StatsSchema, create(StatsSchema, init))))

  expect(read({ names: ['cpu'], values: [Number.NaN] })).toBe('BAD_VALUE')
  expect(read({ names: ['cpu'], values: [] })).toBe('COLUMN_MISMATCH')
  expect(read({ names: ['__proto__'], values: [1] })).toBe('BAD_TEXT')
  expect(read({ names: new Array(65).fill('a'), values: new Array(65).fill(1) })).toBe('ROWS_EXCEEDED')
  const rows = { activityId: [1n], skuId: [1n], state: [0], states: [''] }
  expect(read(rows)).toBe('fine')
  expect(read({ ...rows, skuId: [] })).toBe('COLUMN_MISMATCH')
  expect(read({ ...rows, columns: [{ name: 'free', values: new Uint8Array(12) }] })).toBe('COLUMN_MISMATCH')
  expect(read({ ...rows, columns: [{ name: 'free', values: f64(Number.POSITIVE_INFINITY) }] })).toBe('BAD_VALUE')
  expect(read({ ...rows, activityId: [2n ** 60n] })).toBe('NUMBER_TOO_LARGE')
})
