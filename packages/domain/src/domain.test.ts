import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ACTIVITY_EVENTS,
  ACTIVITY_TABLE,
  activityStep,
  isLayerOpen,
  isLayerShut,
  isSelling,
} from './activity-machine.ts'
import type { Parsed } from './checks.ts'
import { PROBLEM_STATUS, problemBody } from './codes.ts'
import { FIGURES_ARROWS, machinesDocument } from './diagrams.ts'
import {
  ACTIVITY_STATES,
  DEFAULT_POLICY,
  NO_RESERVATION,
  parseAccessLimit,
  parseActivityDoc,
  parsePolicy,
  parseReservation,
  parseSkuDoc,
  parseSlotTableDoc,
  parseStatusDoc,
} from './documents.ts'
import { checkInvariants, NO_FIGURES } from './figures.ts'
import { isOrderId, orderIdOf, parseId } from './ids.ts'
import { ORDER_EVENTS, ORDER_STATES, orderStep } from './order-machine.ts'
import { evaluateRule } from './purchase-rule.ts'
import {
  SKU_EVENT_TYPES,
  SKU_GATES,
  SKU_STATES,
  SKU_TABLE,
  type SkuEvent,
  skuStep,
  stateByFigures,
} from './sku-machine.ts'

const activity = {
  id: 1,
  title: 'sale',
  state: 'open',
  opensAt: 10,
  closesAt: 20,
  rule: 'once-per-product',
  skuIds: [1],
}
const limit = { scope: 'uid', algorithm: 'token-bucket', seconds: 1, maxCount: 5 }
const status = { activityId: 1, skuId: 1, soldOut: false, exhausted: false, free: 1, held: 0, sold: 0, at: 1 }
const slots = (...nodes: { id: string; address: string }[]) => ({ epoch: 1, nodes, owners: Array(1_024).fill(0) })
const sku = { id: 1, activityId: 1, title: 'phone', priceCents: 1, currency: 'CNY', stock: 10 }

/** Good documents with one field replaced by anything. */
const broken = fc
  .tuple(fc.constantFrom(activity, sku, DEFAULT_POLICY), fc.nat(9), fc.anything({ withBigInt: true }))
  .map(([good, n, bad]) => ({ ...good, [Object.keys(good)[n] ?? 'id']: bad }))

describe('documents', () => {
  test('what is left out has its default', () => {
    expect(parseSkuDoc(sku)).toMatchObject({
      ok: true,
      value: { limitPerBuyer: 1, policy: DEFAULT_POLICY, paused: false },
    })
    expect(parseActivityDoc(activity)).toMatchObject({ ok: true, value: { admission: 'direct', accessLimits: [] } })
  })

  test('a bad document is refused with every error and its value', () => {
    const parsed = parseSkuDoc({
      ...sku,
      stock: -1,
      priceCents: 1e300,
      title: null,
      policy: { overbook: 'two', taperAt: 7 },
    })

    expect(parsed.ok ? [] : parsed.errors).toEqual([
      'title must be a printable text of 1 to 200 characters, not null',
      'priceCents must be a whole number from 0 to 1000000000, not 1e+300',
      'stock must be a whole number from 0 to 10000000, not -1',
      'policy.taperAt must be a number from 0 to 1, not 7',
      'policy.overbook must be a number from 1 to 10, not "two"',
    ])
  })

  test('whatever comes, a parser answers and never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything({ withBigInt: true, withNullPrototype: true }), broken), (value) => {
        for (const parse of [parseActivityDoc, parseSkuDoc, parsePolicy, parseSlotTableDoc]) {
          const parsed = parse(value)
          expect(parsed.ok || parsed.errors.length > 0).toBe(true)
        }
      }),
      { seed: 1 },
    )
  })

  test('a sale that closes before it opens, or a slot table with a hole, is refused', () => {
    expect(parseActivityDoc({ ...activity, closesAt: 5 }).ok).toBe(false)
    const nodes = [{ id: 'm', address: '127.0.0.1:1' }]
    expect(parseSlotTableDoc({ epoch: 1, nodes, owners: Array(1_024).fill(0) }).ok).toBe(true)
    expect(parseSlotTableDoc({ epoch: 1, nodes, owners: Array(1_023).fill(0) }).ok).toBe(false)
    expect(parseSlotTableDoc({ epoch: 1, nodes, owners: Array(1_024).fill(1) }).ok).toBe(false)
  })
})

test.each([
  ['a field with a default is null', parseSkuDoc, { ...sku, limitPerBuyer: null }],
  ['a policy is null', parseSkuDoc, { ...sku, policy: null }],
  ['a list is null', parseActivityDoc, { ...activity, skuIds: null }],
  ['a title would break the database', parseSkuDoc, { ...sku, title: 'pho\0ne' }],
  ['a title is half a character', parseSkuDoc, { ...sku, title: '\ud800' }],
  ['a picture is a script', parseSkuDoc, { ...sku, imageUrl: 'javascript:alert(1)' }],
  ['a picture lies on a borrowed host', parseSkuDoc, { ...sku, imageUrl: '//evil.example/a.png' }],
  ['a picture breaks out of its attribute', parseSkuDoc, { ...sku, imageUrl: '/a.png" onerror="x' }],
  ['a picture has no end', parseSkuDoc, { ...sku, imageUrl: `/${'a'.repeat(500)}` }],
  ['a currency is none', parseSkuDoc, { ...sku, currency: 'cny' }],
  ['a number is not finite', parsePolicy, { taperAt: Number.NaN }],
  ['a number is a bigint', parseSkuDoc, { ...sku, stock: 1n }],
  ['a product is named twice', parseActivityDoc, { ...activity, skuIds: [1, 1] }],
  ['an id is beyond 2^53 - 1', parseActivityDoc, { ...activity, skuIds: [2 ** 53] }],
  ['nobody could ever reserve', parseReservation, { required: true, opensAt: 5, closesAt: 5 }],
  ['a bucket lets nobody through', parseAccessLimit, { ...limit, burst: 0 }],
  ['a status counts less than nothing', parseStatusDoc, { ...status, free: -1 }],
  ['a port does not exist', parseSlotTableDoc, slots({ id: 'm', address: '127.0.0.1:65536' })],
  ['a node is named twice', parseSlotTableDoc, slots({ id: 'm', address: 'a:1' }, { id: 'm', address: 'b:1' })],
] as const)('a document is refused when %s', (_, parse: (value: unknown) => Parsed<unknown>, value: unknown) => {
  const parsed = parse(value)
  expect(parsed.ok ? 'accepted' : parsed.errors.length).toBeGreaterThanOrEqual(1)
})

test('the good documents beside them are accepted', () => {
  const picture = { ...sku, imageUrl: 'https://img.example/a.png?w=1' }
  for (const parsed of [
    ...[parseAccessLimit({ ...limit, burst: 1 }), parseAccessLimit(limit), parseStatusDoc(status)],
    ...[parseSkuDoc(picture), parseSkuDoc({ ...sku, title: '小米手机 📱', imageUrl: '/a.png' })],
    ...[parseReservation({ required: true, opensAt: 1, closesAt: 2 }), parseReservation(NO_RESERVATION)],
    parseSlotTableDoc(slots({ id: 'm', address: 'middle-1:8300' })),
  ])
    expect(parsed).toMatchObject({ ok: true })
})

test('what a parser accepts, it accepts again unchanged: nothing grows or fades on its way through the catalog', () => {
  const first = parseActivityDoc({ ...activity, accessLimits: [limit], reservation: NO_RESERVATION })
  expect(first.ok && parseActivityDoc(JSON.parse(JSON.stringify(first.value)))).toEqual(first)
})

describe('activity machine', () => {
  test('every pair of state and event is defined: a known state, or refused', () => {
    for (const state of ACTIVITY_STATES) {
      for (const event of ACTIVITY_EVENTS) {
        const next = activityStep(state, event)
        expect(next === undefined || ACTIVITY_STATES.includes(next), `${state} ${event}`).toBe(true)
      }
    }
  })

  test('every state can be reached from draft, and reset leads back from everywhere but a running sale', () => {
    const reached = new Set(['draft'])
    for (const state of reached)
      for (const next of Object.values(ACTIVITY_TABLE[state as never])) reached.add(next as string)
    expect([...reached].sort()).toEqual([...ACTIVITY_STATES].sort())
    expect(ACTIVITY_STATES.filter((state) => !activityStep(state, 'reset'))).toEqual(['draft', 'open', 'paused'])
  })

  test('an armed activity sells from its opening time by the own clock', () => {
    const armed = { state: 'armed', stage: 'middle', opensAt: 10, closesAt: 20 } as const
    expect([9, 10, 19, 20].map((now) => isSelling(armed, now))).toEqual([false, true, true, false])
    expect(isSelling({ ...armed, state: 'paused' }, 15)).toBe(false)
    expect(isSelling({ ...armed, stage: 'cart' }, 15)).toBe(false)
  })

  test('a layer is open with the ones within it; of an activity that is not known none is known to be shut', () => {
    expect((['counter', 'cart', 'middle'] as const).map((layer) => isLayerOpen('cart', layer))).toEqual([
      true,
      true,
      false,
    ])
    expect((['counter', 'cart', 'middle'] as const).some((layer) => isLayerOpen('shut', layer))).toBe(false)
    expect(isLayerShut(undefined, 'counter')).toBe(false)
  })
})

const figures = fc
  .record({
    free: fc.nat(50),
    held: fc.nat(50),
    sold: fc.nat(50),
    pool: fc.nat(50),
    leased: fc.nat(9),
    outstanding: fc.nat(9),
  })
  .map((one) => ({ ...NO_FIGURES, ...one, stock: one.free + one.held + one.sold }))

describe('release machine', () => {
  test('every pair of state and event is defined and leads to a known state', () => {
    fc.assert(
      fc.property(figures, (reading) => {
        for (const state of SKU_STATES) {
          for (const type of SKU_EVENT_TYPES) {
            const next = skuStep(state, { type, figures: reading } as SkuEvent, DEFAULT_POLICY)
            expect(SKU_STATES).toContain(next)
            expect(SKU_TABLE[state][type]).toBeDefined()
          }
        }
      }),
      { seed: 2, numRuns: 50 },
    )
  })

  test('a state never sells what is not there, and never says sold out while a unit may come back', () => {
    fc.assert(
      fc.property(figures, (reading) => {
        const gate = SKU_GATES[stateByFigures(reading, DEFAULT_POLICY)]
        if (gate === 'open') expect(reading.free).toBeGreaterThan(0)
        if (gate === 'sold-out') expect(reading.free + reading.held + reading.outstanding).toBe(0)
      }),
      { seed: 3 },
    )
  })

  test('the figures lead to the states of the diagram, and to no other', () => {
    const reached = new Set<string>()
    const policy = { ...DEFAULT_POLICY, taperAt: 0.5, trickleAt: 3 }
    for (const [free, held, pool] of [...[30, 10, 3, 0].map((free) => [free, 0, 1]), [0, 1, 1], [30, 0, 0]] as const)
      reached.add(
        stateByFigures({ ...NO_FIGURES, stock: 40, free: free ?? 0, held: held ?? 0, pool: pool ?? 0 }, policy),
      )

    expect([...reached].sort()).toEqual(FIGURES_ARROWS.map(([next]) => next).sort())
  })

  test('the release slows down as the stock goes, and opens again when units return', () => {
    const policy = { ...DEFAULT_POLICY, taperAt: 0.2, trickleAt: 5 }
    const at = (free: number, held = 0) =>
      stateByFigures({ ...NO_FIGURES, stock: 100, free, held, sold: 100 - free - held, pool: free }, policy)
    expect([100, 20, 5, 0].map((free) => at(free))).toEqual(['releasing', 'tapering', 'trickling', 'soldOut'])
    expect(at(0, 3)).toBe('exhausted')
    const returned: SkuEvent = { type: 'figures', figures: { ...NO_FIGURES, stock: 100, free: 1, sold: 99, pool: 1 } }
    expect(skuStep('soldOut', returned, policy)).toBe('trickling')
  })
})

test('order machine: every pair is defined; money that comes too late goes back', () => {
  for (const state of ORDER_STATES) {
    for (const event of ORDER_EVENTS) {
      const next = orderStep(state, event)
      expect(next === undefined || ORDER_STATES.includes(next), `${state} ${event}`).toBe(true)
    }
  }
  expect(orderStep('expired', 'moneyCame')).toBe('refund_pending')
  expect(orderStep('expired', 'paid')).toBeUndefined()
  expect(orderStep('paid', 'cancelled')).toBeUndefined()
})

test.each([
  ['unlimited', 5, 5, 1, 'allowed'],
  ['once-per-product', 0, 3, 1, 'allowed'],
  ['once-per-product', 1, 0, 1, 'already-bought'],
  ['one-product-per-activity', 0, 1, 1, 'rule-refused'],
  ['one-product-per-activity', 0, 0, 2, 'rule-refused'],
] as const)('rule %s with %i of this and %i of others, wanting %i: %s', (rule, own, others, quantity, expected) => {
  const question = { unitsOfSku: own, unitsOfOtherSkus: others, quantity, limitPerBuyer: 1 }
  expect(evaluateRule(rule, question)).toBe(expected)
})

test('invariants name what does not hold', () => {
  expect(checkInvariants({ ...NO_FIGURES, stock: 2, free: 1, held: 1, quota: 2, pool: 1, redeemed: 1 })).toEqual([])
  expect(checkInvariants({ ...NO_FIGURES, stock: 1, free: -1, held: 1, sold: 1 })).toEqual(['free is -1'])
  expect(checkInvariants({ ...NO_FIGURES, stock: 3, free: 1, quota: 1 })).toHaveLength(2)
  expect(checkInvariants({ ...NO_FIGURES, deadTotal: Number.NaN })).toEqual(['deadTotal is NaN'])
})

test('ids: whole numbers from 1 to 2^53 - 1, in digits or not; an order id comes from its token', () => {
  expect([1, '17', 2 ** 53 - 1].map(parseId)).toEqual([1, 17, 2 ** 53 - 1])
  for (const bad of [0, -1, 1.5, 2 ** 53, '01', '1e3', '9007199254740993', null, {}, Number.NaN])
    expect(parseId(bad)).toBeUndefined()
  expect(isOrderId(orderIdOf('0'.repeat(32)))).toBe(true)
})

test('problems carry a stable code and their status', () => {
  expect(problemBody('sold_out', { retryAfterMs: 5 })).toMatchObject({ code: 'sold_out', status: 410, retryAfterMs: 5 })
  expect(Object.values(PROBLEM_STATUS).every((status) => status >= 400 && status < 600)).toBe(true)
})

test('docs/machines.md is fresh (npm run docs writes it)', () => {
  expect(readFileSync(new URL('../../../docs/machines.md', import.meta.url), 'utf8')).toBe(machinesDocument())
})
