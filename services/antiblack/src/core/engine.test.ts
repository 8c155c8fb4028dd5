import { type AbuseVerdict, DEFAULT_ABUSE_RULES, subjectOf } from '@bigtap/domain'
import { ACCESS_FLAG, ACCESS_OUTCOME, toldFlags } from '@bigtap/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bytesPerOperation } from '../../../../packages/kernel/src/test-support/bytes-per-operation.ts'
import { batchOf, type TestRow } from '../test-support/rows.ts'
import { AbuseEngine, type AbuseLimits, DEFAULT_ABUSE_LIMITS } from './engine.ts'

const NOW = 1_800_000_000_000
const LIMITS: AbuseLimits = {
  ...DEFAULT_ABUSE_LIMITS,
  ...{ uidsMax: 4_096, addressesMax: 1_024, subnetsMax: 512, devicesMax: 512, verdictsMax: 1_000 },
}

/** A script that asks every 150 ms though it was told two seconds. */
const scripted = (uid: number, asks = 20, more: Partial<TestRow> = {}): TestRow[] =>
  Array.from({ length: asks }, (_, ask) => ({ at: NOW + ask * 150 + (uid % 7), uid, toldMs: 2_000, ...more }))

/** A buyer who asks as told, with a double click. */
const patient = (uid: number, more: Partial<TestRow> = {}): TestRow[] =>
  [0, 30, 2_200, 2_230, 4_500, 7_100].map((ms) => ({ at: NOW + ms + (uid % 300), uid, toldMs: 2_000, ...more }))

const byTime = (rows: readonly TestRow[]) => [...rows].sort((one, other) => one.at - other.at)

function engineWith(rows: readonly TestRow[], limits = LIMITS): AbuseEngine {
  const engine = new AbuseEngine(limits)
  engine.observe(batchOf(byTime(rows)))
  return engine
}

describe('a buyer', () => {
  test('who asks as told is not graded, whatever else happens', () => {
    const engine = engineWith([...patient(1), ...patient(2), ...scripted(3)])

    expect(engine.tick(NOW + 8_000).map(subjectOf)).toEqual(['uid:3'])
  })

  test('is let through with a first request, from the worst of addresses and devices too', () => {
    const shared = { address: '10.9.9.9', device: 77 }
    const engine = engineWith(Array.from({ length: 60 }, (_, uid) => scripted(uid + 1, 20, shared)).flat())
    engine.tick(NOW + 3_000)
    engine.observe(batchOf([{ at: NOW + 3_100, uid: 999, ...shared }]))

    const verdicts = engine.tick(NOW + 3_200)
    expect(verdicts.filter(({ key }) => key === '999')).toEqual([])
  })

  test('who asks again and again against what it was told falls first, with a reason in words', () => {
    const [verdict] = engineWith(scripted(5)).tick(NOW + 3_000)

    expect(verdict).toMatchObject({ kind: 'uid', key: '5', tier: 4, isShadow: false, by: 'antiblack' })
    expect(verdict?.reason).toMatch(/machine-pace|score/)
    expect(verdict?.id).toMatch(/^[0-9a-f]{16}$/)
  })

  test('who holds the reload key for a hundred asks is not blocked; a machine that goes on and on is', () => {
    expect(engineWith(scripted(5, 100)).tick(NOW + 26_000)).toMatchObject([{ key: '5', tier: 4 }])

    expect(engineWith(scripted(5, 160)).tick(NOW + 41_000)).toMatchObject([{ key: '5', tier: 5 }])
  })

  test('who walks into a trap at the very end of a minute is found in the next one, also some seconds later', () => {
    const minute = Math.ceil(NOW / 60_000) * 60_000
    for (const lateMs of [5, 6_000]) {
      const engine = engineWith([{ at: minute - 1, uid: 5, flags: ACCESS_FLAG.honeypot }])

      expect(engine.tick(minute + lateMs)).toMatchObject([{ key: '5', tier: 5 }])
    }
  })

  test('whose verdict made the answers worse is not judged by those answers', () => {
    const blocked = patient(6, { outcome: ACCESS_OUTCOME.blocked })

    expect(engineWith(blocked).tick(NOW + 8_000)).toEqual([])
  })

  test('at many addresses within a minute is blocked', () => {
    const rows = Array.from({ length: 12 }, (_, index) => ({
      at: NOW + index * 900,
      uid: 8,
      address: `20.0.${index}.1`,
    }))

    expect(engineWith(rows).tick(NOW + 11_000)[0]).toMatchObject({ kind: 'uid', key: '8', tier: 5 })
  })

  test('who asks for a path that only a script can see is blocked at once', () => {
    const engine = engineWith([{ at: NOW, uid: 9, outcome: ACCESS_OUTCOME.notFound, flags: ACCESS_FLAG.honeypot }])

    expect(engine.tick(NOW + 10)[0]).toMatchObject({ key: '9', tier: 5 })
  })
})

describe('an address', () => {
  const address = '10.5.5.5'

  test('that only scripts use is graded, and no worse than tier 4', () => {
    const engine = engineWith(Array.from({ length: 30 }, (_, uid) => scripted(uid + 1, 20, { address })).flat())

    const graded = engine.tick(NOW + 3_000).filter(({ kind }) => kind === 'ip')
    expect(graded).toHaveLength(1)
    expect(graded[0]).toMatchObject({ key: address })
    expect(graded[0]?.tier).toBeLessThanOrEqual(4)
  })

  test('that thousands of good buyers share is not graded, and none of them is', () => {
    const people = Array.from({ length: 1_500 }, (_, uid) => patient(uid + 100, { address })).flat()
    const engine = engineWith(people)

    expect(engine.tick(NOW + 8_000)).toEqual([])
  })

  test('that good buyers share with scripts is not graded; the scripts are', () => {
    const people = Array.from({ length: 60 }, (_, uid) => patient(uid + 100, { address })).flat()
    const engine = engineWith([
      ...people,
      ...Array.from({ length: 30 }, (_, uid) => scripted(uid + 1, 20, { address })).flat(),
    ])
    engine.tick(NOW + 8_000)
    engine.observe(
      batchOf(
        [...patient(100, { address }), ...scripted(1, 2, { address })].map((row) => ({ ...row, at: row.at + 8_000 })),
      ),
    )
    const engineVerdicts = engine.tick(NOW + 16_000)

    expect(engineVerdicts.filter(({ kind }) => kind === 'ip')).toEqual([])
    const blocked = Array.from(
      { length: 160 },
      (_, uid) => engine.explain({ kind: 'uid', key: String(uid) }, NOW + 8_001)?.verdict,
    )
    expect(blocked.filter((one) => one?.tier === 5).map((one) => Number(one?.key) < 100)).not.toContain(false)
  })

  test('is graded no more as soon as good buyers come from it', () => {
    const engine = engineWith(Array.from({ length: 20 }, (_, uid) => scripted(uid + 1, 20, { address })).flat())
    expect(engine.tick(NOW + 3_000).some(({ kind }) => kind === 'ip')).toBe(true)

    const people = Array.from({ length: 40 }, (_, uid) => ({ at: NOW + 4_000 + uid, uid: uid + 500, address }))
    engine.observe(batchOf(people))
    const lifted = engine.tick(NOW + 4_100).filter(({ kind }) => kind === 'ip')

    expect(lifted).toHaveLength(1)
    expect(lifted[0]).toMatchObject({ key: address, tier: 0, at: NOW + 4_100, expiresAt: NOW + 4_100 })
    expect(engine.counters.lifted).toBe(1)
  })
})

describe('the engine', () => {
  const crowd = fc.array(
    fc.record({
      uid: fc.integer({ min: 1, max: 12 }),
      at: fc.integer({ min: 0, max: 20_000 }).map((ms) => NOW + ms),
      address: fc.constantFrom('10.0.0.1', '10.0.0.2', '2001:db8::1'),
      device: fc.constantFrom(0, 5, 2 ** 52 + 1),
      outcome: fc.constantFrom(...Object.values(ACCESS_OUTCOME)),
      flags: fc.integer({ min: 0, max: 255 }),
      toldMs: fc.constantFrom(0, 150, 5_000),
    }),
    { maxLength: 200 },
  )

  test('says the same for the same rows, and never again what is in force', () => {
    fc.assert(
      fc.property(crowd, (rows) => {
        const said = [0, 1].map(() => {
          const engine = engineWith(rows)
          return [engine.tick(NOW + 20_000), engine.tick(NOW + 20_001)] as const
        })
        expect(said[0]).toEqual(said[1])
        expect(said[0]?.[1].filter(({ tier }) => tier > 0)).toEqual([])
      }),
      { numRuns: 50 },
    )
  })

  test('grades nobody but a buyer 5, and gives each verdict a time to end', () => {
    fc.assert(
      fc.property(crowd, (rows) => {
        for (const { kind, tier, expiresAt, at } of engineWith(rows).tick(NOW + 20_000)) {
          expect(kind === 'uid' || tier <= 4).toBe(true)
          expect(expiresAt).toBeGreaterThan(at)
        }
      }),
      { numRuns: 50 },
    )
  })

  test('comes to the same verdicts however the groups of buyers are interleaved, within half a second', () => {
    fc.assert(
      fc.property(
        crowd,
        fc.array(fc.integer({ min: 0, max: 500 }), { minLength: 16, maxLength: 16 }),
        (rows, delays) => {
          const one = engineWith(rows)
          const other = new AbuseEngine(LIMITS)
          // Each buyer's rows come in order (they are of one group), but each group is late by another time.
          const arrival = ({ at, uid = 0 }: TestRow) => at + (delays[uid & 15] ?? 0)
          for (const row of [...byTime(rows)].sort((a, b) => arrival(a) - arrival(b))) other.observe(batchOf([row]))
          const words = (verdicts: readonly AbuseVerdict[]) =>
            verdicts.map((verdict) => `${subjectOf(verdict)} ${verdict.tier} ${verdict.reason}`).sort()

          expect(words(other.tick(NOW + 20_000))).toEqual(words(one.tick(NOW + 20_000)))
        },
      ),
      { numRuns: 50 },
    )
  })

  test('takes other rules without forgetting what it has counted', () => {
    const engine = engineWith(scripted(5, 4))
    engine.configure({ version: 2, isShadow: false, rules: [] }, null)
    expect(engine.tick(NOW + 500)).toEqual([])
    const strict = { ...DEFAULT_ABUSE_RULES.rules.find(({ name }) => name === 'hasty'), threshold: 3 } as never
    engine.configure({ version: 3, isShadow: true, rules: [strict] }, null)
    engine.observe(batchOf([{ at: NOW + 600, uid: 5, toldMs: 2_000 }]))

    expect(engine.tick(NOW + 700)).toMatchObject([{ key: '5', tier: 3, isShadow: true, score: 1 }])
  })

  test('keeps verdicts of an earlier process, and does not repeat them', () => {
    const verdicts = engineWith(scripted(5)).tick(NOW + 3_000)
    const engine = engineWith(scripted(5))
    engine.restore(verdicts)

    expect(engine.inForce).toBe(1)
    expect(engine.tick(NOW + 3_100)).toEqual([])
    expect(engine.explain({ kind: 'uid', key: '5' }, NOW + 3_100)?.verdict).toEqual(verdicts[0])
  })

  test('says no more at once than it may, and the rest with the next ticks', () => {
    const rows = Array.from({ length: 15 }, (_, uid) => scripted(uid + 1)).flat()
    const engine = engineWith(rows, { ...LIMITS, verdictsPerTick: 10 })

    const counts = [1, 2, 3].map((tick) => engine.tick(NOW + 3_000 + tick).length)
    expect(counts).toEqual([10, 5, 0])
  })

  test('judges buyers in the same tick, however many bad addresses there are', () => {
    const rows = Array.from({ length: 200 }, (_, index) => ({
      ...{ at: NOW + index, address: `30.${index}.0.1`, flags: ACCESS_FLAG.badSignature },
    }))
    const forgers = Array.from({ length: 31 }, () => rows).flat()
    const engine = engineWith([...forgers, ...scripted(5)], { ...LIMITS, verdictsPerTick: 8, judgedPerTick: 400 })

    const kinds = engine.tick(NOW + 3_000).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'ip')).toHaveLength(2)
    expect(kinds).toContain('uid')
  })

  test('explains a grade by figures, by what weighed most, and by rules', () => {
    const engine = engineWith(scripted(5))
    engine.tick(NOW + 3_000)
    const explained = engine.explain({ kind: 'uid', key: '5' }, NOW + 3_000)

    expect(explained?.features).toMatchObject({ asks60: 20, addresses: expect.closeTo(1, 1) })
    expect(explained?.rules).toContain('machine-pace')
    expect(explained?.score).toBeGreaterThan(0.9)
    const weights = explained?.contributions.map(({ logOdds }) => Math.abs(logOdds)) ?? []
    expect(weights.length).toBeGreaterThan(3)
    expect(weights).toEqual([...weights].sort((one, other) => other - one))
    expect(engine.explain({ kind: 'ip', key: '10.1.0.5' }, NOW + 3_000)?.features).toMatchObject({ asks60: 20 })
    expect(engine.explain({ kind: 'subnet', key: '10.1.0' }, NOW + 3_000)?.features).toMatchObject({ asks60: 20 })
    expect(engine.explain({ kind: 'uid', key: '404' }, NOW + 3_000)).toBeUndefined()
  })

  test('forgets whom an operator has lifted, so that old evidence does not grade it again', () => {
    const engine = engineWith(scripted(5))
    engine.tick(NOW + 3_000)

    expect(engine.forget({ kind: 'uid', key: '5' })).toBe(true)
    engine.observe(batchOf([{ at: NOW + 3_100, uid: 5 }]))
    expect(engine.tick(NOW + 3_200)).toEqual([])
    expect(engine.forget({ kind: 'uid', key: '404' })).toBe(false)
  })

  test('counts no rows from a wrong clock, and says how many there were', () => {
    const engine = engineWith([{ at: NOW, uid: 1 }])
    engine.tick(NOW)
    engine.observe(batchOf([{ at: NOW + 3_600_000, uid: 2 }]))
    engine.observe(batchOf([{ at: NOW - 120_000, uid: 3 }]))

    expect(engine.counters).toMatchObject({ rows: 3, outOfTime: 2 })
    expect(engine.explain({ kind: 'uid', key: '2' }, NOW)).toBeUndefined()
  })

  test('stays within its memory when uids, addresses and devices are sprayed', () => {
    const engine = new AbuseEngine({ ...LIMITS, uidsMax: 512, addressesMax: 256, subnetsMax: 128, devicesMax: 128 })
    const bytes = engine.bytes
    const sprayed = (index: number): TestRow => ({
      ...{ at: NOW + index, uid: 10_000 + index, device: 10_000 + index },
      address: `${20 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}.7`,
    })
    for (let from = 0; from < 20_000; from += 500) {
      const rows = Array.from({ length: 500 }, (_, index) => sprayed(from + index))
      engine.observe(
        batchOf([...rows, { at: NOW + from, uid: 1, toldMs: 5_000 }, { at: NOW + from + 250, uid: 1, toldMs: 5_000 }]),
      )
    }

    expect(engine.bytes).toBe(bytes)
    expect(engine.size).toBeLessThanOrEqual(512 + 256 + 128 + 128)
    expect(engine.turnedAway).toBeGreaterThan(10_000)
    expect(engine.tick(NOW + 20_000)).toMatchObject([{ key: '1', tier: 4 }])
  })

  test('takes a row in without making an object: a few boxed numbers at most', () => {
    const engine = new AbuseEngine(LIMITS)
    const batch = batchOf(byTime([...scripted(1, 100), ...patient(2)]))
    batch.flags.fill(toldFlags(500))

    expect(
      bytesPerOperation(5_000, (count) => {
        for (let row = 0; row < count; row += batch.rows) engine.observe(batch)
      }),
    ).toBeLessThan(72)
  }, 60_000)
})
