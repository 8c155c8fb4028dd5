import {
  type AccessLimit,
  type ActivityDoc,
  DEFAULT_WAITING,
  NO_CHALLENGE,
  NO_RESERVATION,
  parseAccessLimit,
} from '@bigtap/domain'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { trustedProxies } from '../trusted-proxies.ts'
import { AccessLimits, LIMIT_SCOPES, LIMITED_ACTIVITIES_MAX, type LimitScope } from './access-limits.ts'
import { clientAddress } from './address.ts'

const START = 1_800_000_000_000
const ALGORITHMS = ['fixed-window', 'sliding-window', 'leaky-bucket', 'token-bucket'] as const
const activity = (accessLimits: AccessLimit[], id = 7): ActivityDoc => ({
  ...{ id, title: 'Phone', state: 'open', stage: 'middle', opensAt: START, closesAt: START * 2, rule: 'unlimited' },
  ...{ admission: 'direct', waiting: DEFAULT_WAITING, challenge: NO_CHALLENGE, reservation: NO_RESERVATION },
  ...{ skuIds: [1, 2], accessLimits },
})
const limit = (scope: LimitScope, more: Partial<AccessLimit> = {}): AccessLimit => {
  const parsed = parseAccessLimit({ scope, algorithm: 'fixed-window', seconds: 60, maxCount: 2, ...more })
  if (!parsed.ok) throw new Error(parsed.errors.join())
  return parsed.value
}
const access = (uid: number, address = '1.2.3.4', skuId = 1) => ({ uid, skuId, address: () => address })
/** How many of `count` asks pass. */
const passed = (count: number, ask: (n: number) => number) =>
  Array.from({ length: count }, (_, n) => ask(n)).filter((waitMs) => waitMs === 0).length

describe.each(ALGORITHMS)('%s', (algorithm) => {
  test.each([
    ['uid', access(1, '1.1.1.1', 2), access(2)],
    ['ip', access(2, '1.2.3.4', 2), access(1, '1.2.3.5')],
    ['subnet', access(2, '1.2.3.99', 2), access(1, '1.2.4.4')],
    ['subnet', access(2, '1.2.3.99', 2), access(1, '2001:db8::1')],
    ['sku', access(2, '9.9.9.9', 1), access(1, '1.2.3.4', 2)],
    ['global', access(2, '9.9.9.9', 2), undefined],
  ] as const)('a limit by %s counts together what shares it, and nothing else', (scope, alike, other) => {
    const limits = new AccessLimits()
    const doc = activity([limit(scope, { algorithm })])
    const take = (who: ReturnType<typeof access>) => limits.take(doc, who, START)

    expect([take(access(1)), take(access(1))]).toEqual([0, 0])

    expect(take(access(1))).toBeGreaterThan(0)
    expect(take(alike)).toBeGreaterThan(0)
    if (other !== undefined) expect(take(other)).toBe(0)
    expect(limits.refused[scope]).toBe(2)
  })
})

test("one buyer's window is not everybody's (seed 000 had one window for all)", () => {
  const limits = new AccessLimits()
  const doc = activity([limit('uid', { maxCount: 1 })])

  expect(passed(50, (n) => limits.take(doc, access(n + 1), START))).toBe(50)
})

test('a limit that was exceeded ends by itself, though nothing expires it (a key without expiry blocked for ever)', () => {
  for (const algorithm of ALGORITHMS) {
    const limits = new AccessLimits()
    const doc = activity([limit('uid', { algorithm, maxCount: 1 })])
    expect(passed(1_000, () => limits.take(doc, access(1), START))).toBe(1)

    expect(limits.take(doc, access(1), START + 60_000)).toBe(0)
  }
})

test('addresses of one IPv6 /64 are one subnet, however they are written', () => {
  const limits = new AccessLimits()
  const doc = activity([limit('subnet')])
  const ask = (address: string) => limits.take(doc, access(1, address), START)

  expect([ask('2001:db8::1'), ask('2001:0db8:0:0:ffff::9')]).toEqual([0, 0])
  expect(ask('2001:db8:0:0:1:2:3:4')).toBeGreaterThan(0)
  expect(ask('2001:db8:0:1::1')).toBe(0)
})

test('who is refused by one limit takes nothing of the others: one who hammers leaves the budget to all', () => {
  const limits = new AccessLimits()
  const doc = activity([limit('global', { maxCount: 100 }), limit('uid', { maxCount: 1 })])

  expect(passed(1_000, () => limits.take(doc, access(1), START))).toBe(1)
  expect(passed(1_000, (n) => limits.take(doc, access(100 + n), START))).toBe(99)
  // And whom the budget refused has lost nothing of his own.
  expect(limits.take(doc, access(100 + 999), START + 60_000)).toBe(0)
})

describe('a change while the sale is open', () => {
  test('keeps what the limits counted that did not change', () => {
    const limits = new AccessLimits()
    const ask = (doc: ActivityDoc) => limits.take(doc, access(1), START)
    const [uid, ip] = [limit('uid'), limit('ip', { maxCount: 50 })]
    expect(passed(9, () => ask(activity([uid, ip])))).toBe(2)

    expect(ask(activity([limit('subnet', { maxCount: 9 }), limit('ip', { maxCount: 50 }), limit('uid')]))).not.toBe(0)
    expect(ask(activity([{ ...uid }]))).not.toBe(0)
  })

  test('a raised limit lets through what is new, a lowered one counts what was', () => {
    const limits = new AccessLimits()
    const ask = (maxCount: number) => limits.take(activity([limit('uid', { maxCount })]), access(1), START)
    expect(passed(9, () => ask(5))).toBe(5)

    expect(passed(9, () => ask(7))).toBe(2)
    expect(passed(9, () => ask(3))).toBe(0)
  })

  test('a limit of another kind starts afresh, one that is taken away ends at once', () => {
    const limits = new AccessLimits()
    const ask = (doc: ActivityDoc) => limits.take(doc, access(1), START)
    expect(passed(9, () => ask(activity([limit('uid')])))).toBe(2)

    expect(passed(9, () => ask(activity([limit('uid', { seconds: 30 })])))).toBe(2)
    expect(passed(9, () => ask(activity([])))).toBe(9)
  })

  test('two limits of one kind stay apart', () => {
    const limits = new AccessLimits()
    const [low, high] = [limit('uid', { maxCount: 2 }), limit('uid', { maxCount: 4 })]
    const ask = (doc: ActivityDoc) => limits.take(doc, access(1), START)
    expect(passed(9, () => ask(activity([low, high])))).toBe(2)

    expect(passed(9, () => ask(activity([high])))).toBe(2)
  })
})

describe('a share of a budget', () => {
  const shares = (share: number) => new AccessLimits({ shareAt: () => share })

  test('belongs to scopes global and sku; limits of a buyer or an address are whole everywhere', () => {
    for (const scope of LIMIT_SCOPES) {
      const limits = shares(0.25)
      const doc = activity([limit(scope, { maxCount: 40 })])
      const isShared = scope === 'global' || scope === 'sku'
      expect(passed(100, () => limits.take(doc, access(1), START))).toBe(isShared ? 10 : 40)
    }
  })

  test('a change of the share is in force within a tenth of a second, and forgets nothing', () => {
    let share = 0.5
    const limits = new AccessLimits({ shareAt: () => share })
    const doc = activity([limit('global', { maxCount: 40 })])
    expect(passed(100, () => limits.take(doc, access(1), START))).toBe(20)

    share = 0.75

    expect(passed(100, () => limits.take(doc, access(1), START + 100))).toBe(10)
  })

  test.each(ALGORITHMS)(
    'all limiters together let the budget through, and at most one more for each: %s',
    (algorithm) => {
      fc.assert(
        fc.property(
          fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 8 }),
          fc.integer({ min: 1, max: 60 }),
          (weights, maxCount) => {
            const sum = weights.reduce((total, weight) => total + weight, 0)
            const nodes = weights.map((weight) => shares(weight / sum))
            const doc = activity([limit('global', { algorithm, maxCount, seconds: 1 })])
            const windows = 20
            let all = 0
            for (let ms = 0; ms < windows * 1_000; ms += 20)
              for (const node of nodes) while (node.take(doc, access(1), START + ms) === 0) all++

            // A bucket begins full: its depth comes on top, once.
            const depth = algorithm.endsWith('bucket') ? maxCount + nodes.length : 0
            expect(all).toBeLessThanOrEqual((maxCount + nodes.length) * windows + depth)
            // A window's fractions come together over time; the sliding one's estimate errs by less than one each.
            const missing = algorithm === 'sliding-window' ? nodes.length * windows : nodes.length
            expect(all).toBeGreaterThanOrEqual(maxCount * windows - missing)
          },
        ),
        { seed: 1, numRuns: 40 },
      )
    },
  )

  test('a share of almost nothing still lets one through in the time of the limit', () => {
    for (const algorithm of ALGORITHMS) {
      const limits = shares(0.000_1)
      const doc = activity([limit('global', { algorithm, maxCount: 5, seconds: 10 })])
      expect(limits.take(doc, access(1), START)).toBe(0)
      expect(limits.take(doc, access(2), START + 10_000)).toBe(0)
    }
  })
})

test('limits of many activities stay within their bound: the one unused for longest starts afresh', () => {
  const limits = new AccessLimits()
  const ask = (id: number) => limits.take(activity([limit('uid', { maxCount: 1 })], id), access(1), START)
  for (let id = 1; id <= LIMITED_ACTIVITIES_MAX + 1; id++) expect(ask(id)).toBe(0)

  expect(ask(LIMITED_ACTIVITIES_MAX + 1)).toBeGreaterThan(0)
  expect(ask(1)).toBe(0)
  expect(limits.keys).toBe(LIMITED_ACTIVITIES_MAX)
})

test('rotating X-Forwarded-For changes nothing unless the proxy is trusted (it reset the limit for others)', () => {
  const doc = activity([limit('ip')])
  const passes = (isTrusted: (address: string) => boolean) => {
    const limits = new AccessLimits()
    return passed(100, (n) => {
      const address = clientAddress('203.0.113.9', `10.9.8.${n}`, isTrusted)
      return limits.take(doc, access(n, address), START)
    })
  }

  expect(passes(trustedProxies([]))).toBe(2)
  expect(passes(trustedProxies(['203.0.113.0/24']))).toBe(100)
})

test('behind a trusted proxy what a client puts in front of its own address changes nothing', () => {
  const isTrusted = trustedProxies(['10.0.0.0/8'])
  const limits = new AccessLimits()
  const doc = activity([limit('ip')])

  const count = passed(100, (n) =>
    limits.take(doc, access(n, clientAddress('10.0.0.1', `10.1.1.${n}, 7.7.7.${n}, 203.0.113.9`, isTrusted)), START),
  )

  expect(count).toBe(2)
})
