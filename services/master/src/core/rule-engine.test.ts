import fc from 'fast-check'
import { expect, test } from 'vitest'
import { APPROVAL_LIMITS, Approvals } from './approvals.ts'
import { RuleEngine, type RuleEvent, WATCHES_MAX } from './rule-engine.ts'
import type { StoredRule } from './rules.ts'

const rule: StoredRule = {
  ...{ id: 1, version: 1, name: 'slow', when: 'true', forSeconds: 3, clearSeconds: 5, severity: 'warning' },
  ...{ actions: [{ type: 'alert' }], needsYes: true, webhook: true, enabled: true },
}
const seen = (holds: boolean, subject = 'node:a') => [{ ruleId: 1, subject, holds, data: { eventLoopMs: 9 } }]
const types = (events: RuleEvent[]) => events.map(({ type }) => type)

test('a rule fires when it has held for its time, and not when it held in between only', () => {
  const engine = new RuleEngine()
  const at = (second: number, holds: boolean) => types(engine.tick(second * 1_000, [rule], seen(holds)))
  expect([at(0, true), at(2, true), at(2.5, false), at(3, true), at(5.9, true)].flat()).toEqual([])
  expect(at(6, true)).toEqual(['fired'])
  expect(at(7, true)).toEqual(['holds'])
})

test('it is over when it has not held for its time: what flickers stays one alert', () => {
  const engine = new RuleEngine()
  const at = (second: number, holds: boolean) =>
    types(engine.tick(second * 1_000, [{ ...rule, forSeconds: 0 }], seen(holds)))
  expect([at(0, true), at(1, false), at(4, true), at(5, false), at(9, false), at(10, false)].flat()).toEqual([
    'fired',
    'holds',
    'cleared',
  ])
})

test('a rule acts again for the same subject only after a minute', () => {
  const engine = new RuleEngine()
  const quick = { ...rule, forSeconds: 0, clearSeconds: 0 }
  const at = (second: number, holds: boolean) => engine.tick(second * 1_000, [quick], seen(holds))
  expect(at(0, true)).toMatchObject([{ type: 'fired', acts: true }])
  at(1, false)
  expect(at(2, true)).toMatchObject([{ type: 'fired', acts: false }])
  at(3, false)
  expect(at(61, true)).toMatchObject([{ type: 'fired', acts: true }])
})

test('a subject that is gone, and a rule that is gone, are over', () => {
  const engine = new RuleEngine()
  const quick = { ...rule, forSeconds: 0 }
  engine.tick(0, [quick], [...seen(true), ...seen(true, 'node:b')])
  engine.tick(1_000, [quick], seen(true))
  expect(engine.tick(6_000, [quick], seen(true))).toMatchObject([
    { type: 'holds', subject: 'node:a' },
    { type: 'cleared', subject: 'node:b' },
  ])
  expect(engine.tick(7_000, [], [])).toMatchObject([{ type: 'cleared', subject: 'node:a' }])
})

test('no more subjects are watched than the limit, and the rest is counted', () => {
  const engine = new RuleEngine()
  const many = Array.from({ length: WATCHES_MAX + 5 }, (_, index) => seen(true, `sku:1:${index}`)).flat()
  expect(engine.tick(0, [{ ...rule, forSeconds: 0 }], many)).toHaveLength(WATCHES_MAX)
  expect(engine.dropped).toBe(5)
})

test('whatever is seen, every subject fires and clears in turn', () => {
  const looks = fc.array(fc.record({ gap: fc.integer({ min: 1, max: 9 }), holds: fc.boolean() }), { maxLength: 60 })
  fc.assert(
    fc.property(looks, (walked) => {
      const engine = new RuleEngine()
      let now = 0
      let firing = false
      for (const { gap, holds } of walked) {
        now += gap * 1_000
        for (const { type } of engine.tick(now, [rule], seen(holds))) {
          expect(type === 'fired').toBe(!firing)
          firing = type !== 'cleared'
        }
      }
    }),
  )
})

test('a yes is asked for once, waits ten minutes, and is taken once', () => {
  const approvals = new Approvals()
  const wanted = { id: 'x', ruleId: 1, rule: 'slow', subject: 'sku:1:2', actions: rule.actions }
  expect(approvals.ask(0, wanted)).toBe(true)
  expect(approvals.ask(5, { ...wanted, id: 'y' })).toBe(true)
  expect(approvals.list(10).map(({ id }) => id)).toEqual(['y'])
  expect(approvals.take(10, 'y')).toMatchObject({ expiresAt: 5 + APPROVAL_LIMITS.waitMs })
  expect(approvals.take(10, 'y')).toBeUndefined()
  approvals.ask(0, wanted)
  expect(approvals.take(APPROVAL_LIMITS.waitMs, 'x')).toBeUndefined()
  approvals.ask(0, wanted)
  approvals.withdraw(1, 'sku:1:2')
  expect(approvals.list(0)).toEqual([])
})

test('too many questions are refused, and counted', () => {
  const approvals = new Approvals()
  for (let index = 0; index < APPROVAL_LIMITS.waitingMax + 2; index++)
    approvals.ask(0, { id: `${index}`, ruleId: index, rule: 'r', subject: '', actions: [] })
  expect([approvals.list(0).length, approvals.dropped]).toEqual([APPROVAL_LIMITS.waitingMax, 2])
})
