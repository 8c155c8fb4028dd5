import { expect, test } from 'vitest'
import { actTick, type NodeFact, type SaleFact } from './act-keeper.ts'

const OPENS = 1_000_000
const settings = { preloadMs: 60_000 }
const sale = (more: Partial<SaleFact> = {}): SaleFact => ({
  ...{ activityId: 7, state: 'scheduled', opensAt: OPENS, closesAt: OPENS + 10_000, revision: 5, hasLedger: true },
  ...{ since: 0 },
  ...more,
})
const node = (more: Partial<NodeFact> = {}): NodeFact => ({
  id: 'limiter-1',
  role: 'limiter',
  revision: 5,
  isLive: true,
  ...more,
})
const tick = (now: number, one: SaleFact, nodes: NodeFact[] = []) => actTick(now, { sales: [one], nodes }, settings)
const step = (event: string) => [{ type: 'step', activityId: 7, event }]

test('a scheduled sale is preloaded a minute before its opening, not earlier', () => {
  expect(tick(OPENS - 60_001, sale())).toEqual([])
  expect(tick(OPENS - 60_000, sale())).toEqual(step('preload'))
})

test('a sale without a ledger asks for one and is not armed', () => {
  const preloading = sale({ state: 'preloading', hasLedger: false })
  expect(tick(OPENS - 30_000, preloading)).toEqual([{ type: 'open-ledger', activityId: 7 }])
})

test('a sale is armed when ledger, catalog and every live node are ready', () => {
  const now = OPENS - 4_000
  const preloading = sale({ state: 'preloading', since: now })
  expect(tick(now, preloading, [node()])).toEqual(step('arm'))
  expect(tick(now, sale({ state: 'preloading', since: now, revision: 0 }))).toEqual([])
  expect(tick(now, preloading, [node(), node({ id: 'middle-1', role: 'middle', revision: 4 })])).toEqual([])
})

test('a silent node and one of another role are not waited for', () => {
  const now = OPENS - 4_000
  const preloading = sale({ state: 'preloading', since: now })
  const others = [node({ revision: 1, isLive: false }), node({ id: 'cart-1', role: 'cart', revision: 1 })]
  expect(tick(now, preloading, others)).toEqual(step('arm'))
})

test('what is late raises an alarm that names it, and the opening is held', () => {
  const preloading = sale({ state: 'preloading', since: OPENS - 20_000, hasLedger: false })
  const late = [node({ revision: 4 })]
  const alarm = { type: 'alarm', activityId: 7, waitingFor: ['ledger', 'limiter-1'] }
  expect(tick(OPENS - 5_000, preloading, late)).toContainEqual(alarm)
  const held = tick(OPENS + 5_000, preloading, [node({ revision: 4 })])
  expect(held.some(({ type }) => type === 'step')).toBe(false)
})

test('a sale that opens in four seconds gets its time before an alarm', () => {
  const since = OPENS - 4_000
  const preloading = sale({ state: 'preloading', since })
  const late = (now: number) => tick(now, preloading, [node({ revision: 4 })])
  expect(late(since + 2_999)).toEqual([])
  expect(late(since + 3_000)).toMatchObject([{ type: 'alarm' }])
})

test('an armed sale opens at its time to the millisecond', () => {
  expect(tick(OPENS - 1, sale({ state: 'armed' }))).toEqual([])
  expect(tick(OPENS, sale({ state: 'armed' }))).toEqual(step('open'))
})

test('every running sale is closed at its time, a draft and a closed one are left alone', () => {
  for (const state of ['scheduled', 'preloading', 'armed', 'open', 'paused'] as const)
    expect(tick(OPENS + 10_000, sale({ state }))).toEqual(step('close'))
  for (const state of ['draft', 'closed', 'archived'] as const)
    expect(tick(OPENS + 10_000, sale({ state }))).toEqual([])
})

test('a paused sale stays paused until somebody resumes it', () => {
  expect(tick(OPENS + 1, sale({ state: 'paused' }))).toEqual([])
})
