import { expect, test } from 'vitest'
import { type HealthFact, NodeHealth } from './node-health.ts'

const node = (more: Partial<HealthFact> = {}): HealthFact => ({
  ...{ id: 'limiter-1', role: 'limiter', isLive: true, revision: 5, digest: 'aa' },
  ...{ clockOffsetMs: 3, clockErrorMs: 0, refusals: [] },
  ...more,
})
const head = { revision: 5, digest: 'aa' }
const firing = (health: NodeHealth, now: number, one: HealthFact, at = head) =>
  health.look(now, { head: at, nodes: [one] }).flatMap(({ isFiring, alarm }) => (isFiring ? [alarm.key] : []))

test('a node that holds the newest documents by a good clock is well', () => {
  const health = new NodeHealth()
  expect([0, 5_000].map((now) => firing(health, now, node()))).toEqual([[], []])
})

test('a clock that is off by more than 50 ms raises an alarm', () => {
  const health = new NodeHealth()
  expect(firing(health, 0, node({ clockOffsetMs: -51 }))).toEqual(['clock:limiter-1'])
  expect(firing(health, 1, node({ clockOffsetMs: 50 }))).toEqual([])
  expect(firing(health, 2, node({ clockOffsetMs: undefined }))).toEqual([])
  expect(firing(health, 3, node({ clockOffsetMs: 90, clockErrorMs: 45 }))).toEqual([])
})

test('a digest that differs for more than a second raises an alarm', () => {
  const health = new NodeHealth()
  expect(firing(health, 0, node({ digest: 'bb' }))).toEqual([])
  expect(firing(health, 1_001, node({ digest: 'bb' }))).toEqual(['documents:limiter-1'])
  expect(firing(health, 1_100, node())).toEqual([])
})

test('a node that lags behind is late only after its time, also while the catalog moves on', () => {
  const health = new NodeHealth()
  for (let step = 0; step <= 20; step++) {
    const now = step * 200
    const at = { revision: 5 + step, digest: `${step}` }
    expect(
      firing(health, now, node({ revision: Math.max(5, at.revision - 2), digest: `${Math.max(0, step - 2)}` }), at),
    ).toEqual([])
  }
  expect(firing(health, 4_200, node({ revision: 10, digest: '5' }), { revision: 26, digest: '21' })).toEqual([
    'documents:limiter-1',
  ])
})

test('a node that is gone is not complained about', () => {
  const health = new NodeHealth()
  firing(health, 0, node({ clockOffsetMs: 99 }))
  expect(health.look(1, { head, nodes: [] }).map(({ isFiring }) => isFiring)).toEqual([false, false])
  expect(health.look(2, { head, nodes: [node({ role: 'master', revision: 0, digest: '' })] })).toEqual([])
})

test('the alarm says which documents a node refused', () => {
  const health = new NodeHealth()
  const refusals = [{ key: 'sku:1:1', error: 'pace must be a number' }]
  firing(health, 0, node({ digest: 'bb', refusals }))
  const found = health.look(1_001, { head, nodes: [node({ digest: 'bb', refusals })] })
  expect(found.find(({ isFiring }) => isFiring)?.alarm.data).toMatchObject({ refusals })
})
