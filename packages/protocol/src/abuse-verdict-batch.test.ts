import type { AbuseVerdict } from '@bigtap/domain'
import { create, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AbuseVerdictBatchSchema } from './gen/event_pb.ts'
import { ABUSE_BATCH_MAX, BODY_BYTES_MAX, decodeAbuseVerdicts, encodeAbuseVerdicts, ProtocolError } from './index.ts'

const VERDICT: AbuseVerdict = {
  id: '00112233445566ff',
  kind: 'uid',
  key: '7',
  tier: 5,
  reason: 'rule burst: 40 buy calls in 10 s',
  score: 1,
  at: 1_800_000_000_000,
  expiresAt: 1_800_000_600_000,
  isShadow: false,
  by: 'antiblack',
}

const verdict = fc
  .record({
    id: fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 16, maxLength: 16 }),
    tier: fc.constantFrom(0, 1, 2, 3, 4, 5),
    reason: fc.string({ maxLength: 100 }),
    score: fc.double({ min: 0, max: 1, noNaN: true }),
    at: fc.maxSafeNat(),
    expiresAt: fc.maxSafeNat(),
    isShadow: fc.boolean(),
    by: fc.string({ maxLength: 32 }),
  })
  .chain((rest) =>
    fc
      .oneof(
        fc.record({ kind: fc.constant('uid'), key: fc.integer({ min: 1 }).map(String) }),
        fc.record({ kind: fc.constant('ip'), key: fc.oneof(fc.ipV4(), fc.ipV6()) }),
        fc.record({ kind: fc.constant('subnet'), key: fc.constantFrom('203.0.113', '2001:db8:0:1') }),
        fc.record({ kind: fc.constant('device'), key: fc.maxSafeNat().map((n) => n.toString(16)) }),
      )
      .map((subject) => ({ ...rest, ...subject }) as AbuseVerdict),
  )

test('verdicts about abuse come back as they went', () => {
  fc.assert(
    fc.property(fc.array(verdict, { maxLength: 20 }), fc.maxSafeNat(), (verdicts, from) => {
      expect(decodeAbuseVerdicts(encodeAbuseVerdicts({ from, verdicts }))).toEqual({ from, verdicts })
    }),
    { seed: 1 },
  )
})

test('a verdict with a field out of its bounds is refused by writer and reader', () => {
  const bad: [Partial<Record<keyof AbuseVerdict, unknown>>, string][] = [
    [{ id: 'x' }, 'BAD_VALUE'],
    [{ id: '00112233445566FF' }, 'BAD_VALUE'],
    [{ key: '' }, 'BAD_VALUE'],
    [{ key: '0' }, 'BAD_VALUE'],
    [{ key: '9007199254740992' }, 'NUMBER_TOO_LARGE'],
    [{ kind: 'ip', key: 'localhost' }, 'BAD_VALUE'],
    [{ kind: 'device', key: '0x1' }, 'BAD_VALUE'],
    [{ tier: 6 }, 'BAD_VALUE'],
    [{ score: 1.5 }, 'BAD_VALUE'],
    [{ score: Number.NaN }, 'BAD_VALUE'],
    [{ reason: 'r'.repeat(257) }, 'BAD_TEXT'],
    [{ by: 'b'.repeat(65) }, 'BAD_TEXT'],
  ]
  for (const [change, code] of bad) {
    const wrong = { ...VERDICT, ...change } as AbuseVerdict
    expect(
      codeOf(() => encodeAbuseVerdicts({ from: 1, verdicts: [wrong] })),
      JSON.stringify(change),
    ).toBe(code)
    expect(
      codeOf(() => decodeAbuseVerdicts(raw(wrong))),
      JSON.stringify(change),
    ).toBe(code)
  }
  expect(codeOf(() => decodeAbuseVerdicts(raw(VERDICT, 4)))).toBe('BAD_VALUE')
  expect(codeOf(() => encodeAbuseVerdicts({ from: 1, verdicts: [{ ...VERDICT, at: -1 }] }))).toBe('NUMBER_TOO_LARGE')
})

test('a full batch with the longest texts fits a frame, one verdict more is refused', () => {
  const longest = { ...VERDICT, kind: 'ip', key: '1'.repeat(45), reason: 'r'.repeat(256), by: 'b'.repeat(64) } as const
  const full = new Array<AbuseVerdict>(ABUSE_BATCH_MAX).fill(longest)

  expect(encodeAbuseVerdicts({ from: 1, verdicts: full }).length).toBeLessThan(BODY_BYTES_MAX)
  expect(codeOf(() => encodeAbuseVerdicts({ from: 1, verdicts: [...full, VERDICT] }))).toBe('ROWS_EXCEEDED')
})

test('whatever bytes of verdicts come, the answer is a batch or a coded error', () => {
  const golden = encodeAbuseVerdicts({ from: 3, verdicts: [VERDICT, VERDICT] })
  const mutated = fc.tuple(fc.nat(golden.length), fc.nat(255), fc.nat(golden.length)).map(([at, byte, cut]) => {
    const bytes = Uint8Array.from(golden)
    bytes[at] = byte
    return bytes.subarray(0, cut)
  })
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 120 }), mutated), (bytes) => {
      expect(codeOf(() => decodeAbuseVerdicts(bytes)) ?? 'fine').toMatch(/^[A-Z_]+$|^fine$/)
    }),
    { seed: 2, numRuns: 2_000 },
  )
})

function raw(verdict: AbuseVerdict, kind = ['uid', 'ip', 'subnet', 'device'].indexOf(verdict.kind)): Uint8Array {
  const message = { ...verdict, kind, at: BigInt(verdict.at), expiresAt: BigInt(verdict.expiresAt) }
  return toBinary(AbuseVerdictBatchSchema, create(AbuseVerdictBatchSchema, { verdicts: [message] }))
}

function codeOf(run: () => unknown): string | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    return error instanceof ProtocolError ? error.code : String(error)
  }
}
