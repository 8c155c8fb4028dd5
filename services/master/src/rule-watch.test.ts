import { nullLogger, nullMetrics } from '@bigtap/kernel'
import type { Tick } from '@bigtap/store'
import { FakeClock, SeededRandom } from '@bigtap/testkit'
import { beforeEach, expect, test } from 'vitest'
import { Alarms } from './core/alarms.ts'
import type { Rule } from './core/rules.ts'
import { compileCondition, type Figures } from './rule-conditions.ts'
import type { ReadyRule } from './rule-desk.ts'
import { RuleWatch, TICK_SILENT_MS } from './rule-watch.ts'

let clock: FakeClock
let alarms: Alarms
let rules: ReadyRule[]
let done: unknown[]
let facts: () => Promise<Figures>
let watch: RuleWatch

beforeEach(() => {
  clock = new FakeClock()
  alarms = new Alarms()
  rules = []
  done = []
  facts = async () => ({ violations: 0 })
  watch = new RuleWatch({
    ...{
      desk: {
        get rules() {
          return rules
        },
      },
      alarms,
      clock,
      random: new SeededRandom(1),
    },
    ...{ logger: nullLogger, metrics: nullMetrics, facts: () => facts() },
    act: async (rule, subject, actions) => void done.push({ name: rule.name, subject, actions }),
  })
})

function add(more: Partial<Rule> & Pick<Rule, 'when'>): void {
  const compiled = compileCondition(more.when)
  if (!compiled.ok) throw new Error(compiled.errors.join())
  const rule = {
    ...{
      id: rules.length + 1,
      version: 1,
      name: 'a rule',
      forSeconds: 0,
      clearSeconds: 0,
      severity: 'warning' as const,
    },
    ...{ actions: [{ type: 'alert' as const }], needsYes: true, webhook: true, enabled: true },
    ...more,
  }
  rules.push({ rule, condition: compiled.value })
}

const tick = (more: Partial<Tick> = {}): Tick => ({
  ...{ at: 1, totals: { askRate: 5 }, nodes: [] },
  skus: [3, 4].map((skuId) => ({ activityId: 7, skuId, state: 'releasing', figures: { free: skuId } })),
  ...more,
})
const firing = () =>
  alarms
    .list()
    .filter(({ state }) => state === 'firing')
    .map(({ key }) => key)

test('a rule about SKUs is tried for each, and its alert shows the figures', async () => {
  add({ when: 'sku.free < 4', name: 'few left' })
  await watch.onTick(tick())
  expect(alarms.get('rule:1:sku:7:3')).toMatchObject({ message: 'few left: sku:7:3', data: { 'sku.free': 3 } })
  expect(firing()).toEqual(['rule:1:sku:7:3'])
  await watch.onTick(tick({ skus: [] }))
  expect(firing()).toEqual([])
})

test("what master knows itself is among the totals, and when it knows nothing dcacenter's totals are", async () => {
  add({ when: 'has(totals.violations) && totals.violations > 0' })
  add({ when: 'totals.askRate > 1' })
  facts = async () => ({ violations: 2 })
  await watch.onTick(tick())
  expect(firing().sort()).toEqual(['rule:1', 'rule:2'])
  facts = async () => {
    throw new Error('redis is away')
  }
  await watch.onTick(tick())
  expect(firing()).toEqual(['rule:2'])
})

test('a rule that cannot be tried is one alarm, and the others go on', async () => {
  add({ when: 'sku.nothing > 1', name: 'broken' })
  add({ when: 'totals.askRate > 1' })
  await watch.onTick(tick())
  expect(firing().sort()).toEqual(['rule-broken:1', 'rule:2'])
  expect(alarms.get('rule-broken:1')?.data.error).toContain('nothing')
  rules.shift()
  await watch.onTick(tick())
  expect(firing()).toEqual(['rule:2'])
})

test('what changes the sale waits for a yes, unless the rule may act alone', async () => {
  const actions = [{ type: 'rate' as const, factor: 0.5 }, { type: 'alert' as const }]
  add({ when: 'sku.free < 4', actions })
  add({ when: 'sku.free < 4', name: 'alone', actions, needsYes: false })
  await watch.onTick(tick())
  const wanted = [{ type: 'rate', factor: 0.5 }]
  expect(watch.approvals.list(clock.now())).toMatchObject([{ ruleId: 1, subject: 'sku:7:3', actions: wanted }])
  expect(done).toEqual([{ name: 'alone', subject: 'sku:7:3', actions: wanted }])
  await watch.onTick(tick())
  expect(done).toHaveLength(1)
  await watch.onTick(tick({ skus: [] }))
  expect(watch.approvals.list(clock.now())).toEqual([])
})

test('without ticks the rules are blind, and that is said', async () => {
  watch.look()
  clock.advance(TICK_SILENT_MS + 1)
  watch.look()
  expect(firing()).toEqual(['figures'])
  await watch.onTick(tick())
  watch.look()
  expect(firing()).toEqual([])
})

test('a dry run says what would hold now, and changes nothing', async () => {
  add({ when: 'sku.free < 4' })
  const [ready] = rules.splice(0)
  if (ready === undefined) throw new Error('no rule')
  expect(await watch.dryRun(ready)).toEqual({ at: undefined, tried: [] })
  await watch.onTick(tick())
  const { tried } = await watch.dryRun(ready)
  expect(tried.map(({ subject, holds }) => [subject, holds])).toEqual([
    ['sku:7:3', true],
    ['sku:7:4', false],
  ])
  expect(firing()).toEqual([])
})
