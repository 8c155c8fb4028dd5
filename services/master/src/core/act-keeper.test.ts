import fc from 'fast-check'
import { expect, test } from 'vitest'
import { actTick, CLOSE_MS_MAX, layersLeft, type NodeFact, type SaleFact } from './act-keeper.ts'

const OPENS = 1_000_000
const CLOSES = OPENS + 10_000
const settings = { preloadMs: 60_000 }
const sale = (more: Partial<SaleFact> = {}): SaleFact => ({
  ...{ activityId: 7, state: 'scheduled', stage: 'shut', opensAt: OPENS, closesAt: CLOSES, revision: 5 },
  ...{ hasLedger: true, outstanding: 0, since: 0, stagedAt: 0 },
  ...more,
})
const preloading = (more: Partial<SaleFact> = {}) => sale({ state: 'preloading', since: OPENS - 60_000, ...more })
const node = (role: string, more: Partial<NodeFact> = {}): NodeFact => ({
  ...{ id: `${role}-1`, role, revision: 5, isLive: true },
  ...more,
})
const tick = (now: number, one: SaleFact, nodes: NodeFact[] = []) => actTick(now, { sales: [one], nodes }, settings)
const step = (event: string) => [{ type: 'step', activityId: 7, event }]
const stage = (to: string) => [{ type: 'stage', activityId: 7, stage: to }]

test('a scheduled sale is preloaded a minute before its opening, not earlier', () => {
  expect(tick(OPENS - 60_001, sale())).toEqual([])
  expect(tick(OPENS - 60_000, sale())).toEqual(step('preload'))
})

test('a sale without a ledger asks for one, and no layer opens', () => {
  const one = preloading({ hasLedger: false })
  expect(tick(OPENS - 30_000, one)).toEqual([{ type: 'open-ledger', activityId: 7 }])
})

test('no layer opens before the documents are out', () => {
  expect(tick(OPENS - 30_000, preloading({ revision: 0 }))).toEqual([])
})

test.each([
  ['shut', 'counter', []],
  ['counter', 'cart', ['counter']],
  ['cart', 'middle', ['cart']],
] as const)('layers open from the inside out: %s, then %s, when every node of %s has acked', (at, next, roles) => {
  const now = OPENS - 30_000
  const one = preloading({ stage: at })
  const ready = ['counter', 'cart', 'middle', 'limiter'].map((role) =>
    node(role, { revision: roles.includes(role as never) ? 5 : 1 }),
  )
  expect(tick(now, one, ready)).toEqual(stage(next))
  for (const role of roles) expect(tick(now, one, [...ready, node(role, { id: 'late', revision: 4 })])).toEqual([])
})

test('a sale is armed when every Middle node and every limiter knows that all layers are open', () => {
  const one = preloading({ stage: 'middle' })
  const nodes = [node('middle'), node('limiter'), node('cart', { revision: 1 })]
  expect(tick(OPENS - 30_000, one, nodes)).toEqual(step('arm'))
  for (const role of ['middle', 'limiter'])
    expect(tick(OPENS - 30_000, one, [...nodes, node(role, { id: 'late', revision: 4 })])).toEqual([])
})

test('a silent node is not waited for', () => {
  const nodes = [node('middle', { revision: 1, isLive: false })]
  expect(tick(OPENS - 30_000, preloading({ stage: 'middle' }), nodes)).toEqual(step('arm'))
})

test('a layer that has not acked five seconds before the opening raises an alarm, and the opening is held', () => {
  const late = [node('cart', { revision: 4 })]
  const one = preloading({ stage: 'cart' })
  const alarm = { type: 'alarm', activityId: 7, waitingFor: ['cart-1'] }
  expect(tick(OPENS - 5_001, one, late)).toEqual([])
  expect(tick(OPENS - 5_000, one, late)).toEqual([alarm])
  expect(tick(OPENS + 5_000, one, late)).toEqual([alarm])
})

test('a sale that opens in four seconds gets its time before an alarm', () => {
  const since = OPENS - 4_000
  const late = (now: number) => tick(now, preloading({ since, hasLedger: false, revision: 0 }))
  expect(late(since + 2_999)).toEqual([{ type: 'open-ledger', activityId: 7 }])
  expect(late(since + 3_000)).toContainEqual({ type: 'alarm', activityId: 7, waitingFor: ['ledger', 'catalog'] })
})

test('an armed sale opens at its time to the millisecond', () => {
  expect(tick(OPENS - 1, sale({ state: 'armed', stage: 'middle' }))).toEqual([])
  expect(tick(OPENS, sale({ state: 'armed', stage: 'middle' }))).toEqual(step('open'))
})

test('a paused sale stays paused until somebody resumes it', () => {
  expect(tick(OPENS + 1, sale({ state: 'paused', stage: 'middle' }))).toEqual([])
})

test('every running sale is closed at its time, a draft and an archived one are left alone', () => {
  for (const state of ['scheduled', 'preloading', 'armed', 'open', 'paused'] as const)
    expect(tick(CLOSES, sale({ state }))).toEqual(step('close'))
  for (const state of ['draft', 'archived'] as const) expect(tick(CLOSES, sale({ state }))).toEqual([])
})

const closed = (more: Partial<SaleFact> = {}) => sale({ state: 'closed', stage: 'middle', stagedAt: CLOSES, ...more })

test('layers shut from the outside in: Middle when the limiters know, the cart last but one', () => {
  const limiterLate = [node('limiter', { revision: 4 })]
  expect(tick(CLOSES, closed(), limiterLate)).toEqual([])
  expect(tick(CLOSES, closed(), [node('limiter')])).toEqual(stage('cart'))
  expect(tick(CLOSES, closed({ stage: 'cart' }), [node('middle')])).toEqual(stage('counter'))
  expect(tick(CLOSES, closed({ stage: 'counter' }), [node('cart')])).toEqual(stage('shut'))
  expect(tick(CLOSES, closed({ stage: 'shut' }))).toEqual([])
})

test('the cart stays open while somebody who was granted in time may come, however long that is', () => {
  for (const outstanding of [1, undefined])
    expect(tick(CLOSES + 60_000, closed({ stage: 'cart', outstanding }), [node('middle')])).toEqual([])
})

test('closing does not wait for ever for a node that does not ack', () => {
  const late = [node('limiter', { revision: 4 })]
  expect(tick(CLOSES + CLOSE_MS_MAX, closed(), late)).toEqual(stage('cart'))
})

test('layers that are left are named for who arms by hand', () => {
  expect([layersLeft({ stage: 'shut' }), layersLeft({ stage: 'middle' })]).toEqual([['counter', 'cart', 'middle'], []])
})

test('whatever nodes do, a sale is armed only after each layer was acked, and a closed one ends shut', () => {
  const ROLES = ['counter', 'cart', 'middle', 'limiter']
  const moves = fc.array(fc.record({ role: fc.constantFrom(...ROLES), ms: fc.integer({ min: 0, max: 4_000 }) }), {
    maxLength: 200,
  })
  fc.assert(
    fc.property(moves, (many) => {
      let one = preloading()
      const revisions = new Map(ROLES.map((role) => [role, 0]))
      const opened: string[] = []
      let now = OPENS - 60_000
      const look = () => {
        const nodes = ROLES.map((role) => node(role, { revision: revisions.get(role) ?? 0 }))
        for (const command of tick(now, one, nodes)) {
          if (command.type === 'step' && command.event === 'arm') {
            expect(opened).toEqual(['counter', 'cart', 'middle'])
            for (const role of ['middle', 'limiter']) expect(revisions.get(role)).toBe(one.revision)
            one = { ...one, state: 'armed', revision: one.revision + 1 }
          } else if (command.type === 'step')
            one = {
              ...one,
              state: command.event === 'open' ? 'open' : 'closed',
              revision: one.revision + 1,
              stagedAt: now,
            }
          else if (command.type === 'stage') {
            if (one.state === 'preloading' && one.stage !== 'shut') expect(revisions.get(one.stage)).toBe(one.revision)
            if (one.state === 'preloading') opened.push(command.stage)
            one = { ...one, stage: command.stage, revision: one.revision + 1, stagedAt: now }
          }
        }
      }
      for (const { role, ms } of many) {
        now += ms
        revisions.set(role, one.revision)
        look()
      }
      for (let round = 0; round < 20; round++) {
        now = Math.max(now, CLOSES) + CLOSE_MS_MAX
        look()
      }
      expect([one.state, one.stage]).toEqual(['closed', 'shut'])
    }),
  )
})
