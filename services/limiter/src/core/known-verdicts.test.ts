import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { AbuseVerdict, SubjectKind, Tier } from '@bigtap/domain'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { KnownVerdicts } from './known-verdicts.ts'

const NOW = 1_800_000_000_000

function verdict(change: Partial<AbuseVerdict> = {}): AbuseVerdict {
  return {
    ...{ id: '0000000000000001', kind: 'uid', key: '7', tier: 5, reason: 'rule burst', score: 1 },
    ...{ at: NOW, expiresAt: NOW + 60_000, isShadow: false, by: 'antiblack' },
    ...change,
  }
}

const known = (...verdicts: AbuseVerdict[]) => {
  const book = new KnownVerdicts({ verdictsMax: 100 })
  for (const one of verdicts) book.apply(one, NOW)
  return book
}
const tierOf = (book: KnownVerdicts, now = NOW, who = { uid: 7, device: 0x1f }) =>
  book.tierOf(who.uid, '203.0.113.7', '203.0.113', who.device, now)

test('a buyer has the worst tier of what is said of uid, address, subnet and device', () => {
  expect(tierOf(known())).toBe(0)
  expect(tierOf(known(verdict({ tier: 2 }), verdict({ kind: 'ip', key: '203.0.113.7', tier: 3 })))).toBe(3)
  expect(tierOf(known(verdict({ tier: 2 }), verdict({ kind: 'device', key: '1f', tier: 1 })))).toBe(2)
  expect(tierOf(known(verdict({ kind: 'subnet', key: '203.0.113', tier: 1 })))).toBe(1)
  expect(tierOf(known(verdict({ key: '8' }), verdict({ kind: 'ip', key: '203.0.113.8' })))).toBe(0)
})

test('nobody is blocked for a neighbour: an address, a subnet, a device count 4 at most', () => {
  const subjects: [SubjectKind, string][] = [
    ['ip', '203.0.113.7'],
    ['subnet', '203.0.113'],
    ['device', '1f'],
  ]
  for (const [kind, key] of subjects) expect(tierOf(known(verdict({ kind, key, tier: 5 })))).toBe(4)
  expect(tierOf(known(verdict()))).toBe(5)
})

test('who shows no session and names no device is found by neither', () => {
  const book = known(verdict({ key: '7' }), verdict({ kind: 'device', key: '0' }))

  expect(tierOf(book, NOW, { uid: 0, device: 0 })).toBe(0)
})

test('a verdict ends at its time, by a lift, and by a newer one', () => {
  const book = known(verdict())

  expect([tierOf(book, NOW + 59_999), tierOf(book, NOW + 60_000)]).toEqual([5, 0])
  expect(book.verdictOf(7, NOW + 60_000)).toBeUndefined()
  book.apply(verdict({ tier: 3 }), NOW)
  expect(tierOf(book)).toBe(3)
  book.apply(verdict({ tier: 0, expiresAt: NOW }), NOW)
  expect([tierOf(book), book.size]).toEqual([0, 0])
})

test('a verdict in shadow mode is counted and changes nothing', () => {
  const book = known(verdict({ isShadow: true }), verdict({ kind: 'ip', key: '203.0.113.7', tier: 2 }))

  expect([tierOf(book), book.shadowHits]).toEqual([2, 1])
  expect(book.verdictOf(7, NOW)?.isShadow).toBe(true)
})

test('a full book refuses one more and counts it; replacements and lifts are taken', () => {
  const book = new KnownVerdicts({ verdictsMax: 2 })
  for (const key of ['1', '2', '3', '1']) book.apply(verdict({ key }), NOW)
  expect([book.size, book.refused]).toEqual([2, 1])

  book.apply(verdict({ key: '2', expiresAt: NOW }), NOW)
  book.apply(verdict({ key: '3' }), NOW)
  expect([book.size, book.refused, book.verdictOf(3, NOW)?.key]).toEqual([2, 1, '3'])
})

test('what the whole board does not hold any more is void after it was read', () => {
  const book = known(verdict({ key: '1' }), verdict({ key: '2' }))

  book.beginReload()
  book.apply(verdict({ key: '2' }), NOW)
  book.apply(verdict({ key: '3' }), NOW)
  expect(book.verdictOf(1, NOW)).toBeDefined()
  book.endReload()

  expect([1, 2, 3].map((uid) => book.verdictOf(uid, NOW) !== undefined)).toEqual([false, true, true])
  book.sweep(NOW, 100)
  expect(book.size).toBe(2)
})

test('the sweep removes what is over, a few entries at a time, whatever kind it is', () => {
  const keys: [SubjectKind, string][] = [
    ['uid', '1'],
    ['ip', '203.0.113.1'],
    ['subnet', '203.0.113'],
    ['device', 'ff'],
  ]
  const book = known(
    ...keys.map(([kind, key]) => verdict({ kind, key })),
    verdict({ key: '9', expiresAt: NOW + 90_000 }),
  )

  book.sweep(NOW + 60_000, 1)
  expect(book.size).toBe(4)
  book.sweep(NOW + 60_000, 100)
  expect([book.size, book.verdictOf(9, NOW)?.key]).toEqual([1, '9'])
})

test('whatever is said in whatever order, a look-up is what a slow and obvious book says', () => {
  const said = fc.record({
    key: fc.constantFrom('1', '2', '3'),
    tier: fc.constantFrom<Tier>(0, 1, 2, 3, 4, 5),
    forMs: fc.integer({ min: 0, max: 50 }),
    isShadow: fc.boolean(),
    passMs: fc.integer({ min: 0, max: 20 }),
  })
  fc.assert(
    fc.property(fc.array(said, { maxLength: 60 }), (list) => {
      const book = new KnownVerdicts({ verdictsMax: 100 })
      const slow = new Map<string, AbuseVerdict>()
      let now = NOW
      for (const { key, tier, forMs, isShadow, passMs } of list) {
        const one = verdict({ key, tier, isShadow, at: now, expiresAt: now + forMs })
        book.apply(one, now)
        slow.set(key, one)
        now += passMs
        if (passMs % 3 === 0) book.sweep(now, 2)
        for (const uid of [1, 2, 3]) {
          const own = slow.get(`${uid}`)
          const inForce = own !== undefined && !own.isShadow && own.expiresAt > now ? own.tier : 0
          expect(book.tierOf(uid, '', '', 0, now)).toBe(inForce)
        }
      }
    }),
    { seed: 5 },
  )
})

test('a look-up takes 0 bytes', () => {
  const book = new KnownVerdicts({ verdictsMax: 10_000 })
  for (let key = 1; key <= 4_000; key++) book.apply(verdict({ key: `${key}`, tier: 3 }), NOW)
  for (let key = 1; key <= 200; key++) book.apply(verdict({ kind: 'ip', key: `198.51.100.${key}`, tier: 3 }), NOW)
  let sum = 0

  const run = (count: number) => {
    for (let uid = 1; uid <= count; uid++) sum += book.tierOf(uid, '198.51.100.7', '198.51.100', 0, NOW)
  }
  setFlagsFromString('--expose_gc')
  const collect = runInNewContext('gc') as () => void
  const grown = Array.from({ length: 20 }, () => {
    run(20_000)
    collect()
    const before = process.memoryUsage().heapUsed
    run(20_000)
    return (process.memoryUsage().heapUsed - before) / 20_000
  })

  expect(sum).toBeGreaterThan(0)
  expect(Math.min(...grown)).toBeLessThan(0.5)
})
