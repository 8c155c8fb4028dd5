import { expect, test } from 'vitest'
import { PACE, Pace } from './pace.ts'

const NOW = 1_800_000_000_000
const LAST = { isLast: true }

function asker() {
  const pace = new Pace(2)
  const ask = (at: number, toldMs = 0, more: { isLast?: boolean; skuId?: number; lane?: 0 | 1 } = {}) =>
    pace.note({ place: 1, lane: 0, at: NOW + at, skuId: 1, toldMs, isLast: false, ...more })
  return { pace, ask }
}

test('a double click is one click, a third request at once is a volley', () => {
  const { ask } = asker()

  expect([ask(0), ask(20), ask(40), ask(45)]).toEqual([0, 0, PACE.volley, PACE.volley])
})

test('a double click whose second half is answered late is one click still', () => {
  const { pace, ask } = asker()
  const clicks = Array.from({ length: 8 }, (_, click) => [ask(click * 1_500, 1_400), ask(click * 1_500 + 380, 1_400)])

  expect(clicks.flat().filter((seen) => seen !== 0)).toEqual([])
  expect(pace.gapMs(1)).toBeGreaterThan(1_000)
})

test('who comes back as told is not hasty, however short that was', () => {
  const { ask } = asker()

  expect([ask(0, 150), ask(125, 150), ask(255, 150)]).toEqual([0, 0, 0])
})

test('who comes back much sooner than told is hasty', () => {
  const { ask } = asker()

  const both = PACE.hasty | PACE.ignored
  expect([0, 300, 600, 900].map((at) => ask(at, 2_000))).toEqual([0, 0, both, both])
})

test('a person who reloads the page before the time that was told ignores it, and is not hasty', () => {
  const { ask } = asker()

  expect([ask(0, 5_000), ask(600, 5_000), ask(1_100, 5_000)]).toEqual([0, PACE.ignored, PACE.ignored])
})

test('a row that does not say what was told is hasty only where nobody is told so little', () => {
  const { ask } = asker()

  expect([0, 120, 240, 340].map((at) => ask(at))).toEqual([0, 0, 0, 0])
  expect([440, 540].map((at) => ask(at))).toEqual([PACE.hasty, PACE.hasty])
})

test('who asks on after the last word has not read it', () => {
  const { ask } = asker()

  expect([ask(0, 0, LAST), ask(1_000), ask(2_000)]).toEqual([0, PACE.afterLast, PACE.afterLast])
})

test('another product, and the path before the buy request, are no haste', () => {
  const { ask } = asker()

  expect([
    ask(0, 1_000),
    ask(80, 1_000, { skuId: 2 }),
    ask(81, 0, { lane: 1 }),
    ask(1_200, 1_000, { skuId: 2 }),
  ]).toEqual([0, 0, 0, 0])
})

test('a beat is even, a person is not', () => {
  const { pace, ask } = asker()
  for (let beat = 0; beat < 10; beat++) ask(beat * 200)
  expect(pace.gapMs(1)).toBeCloseTo(200, 0)
  expect(pace.spread(1)).toBeLessThan(0.02)

  for (const [index, gap] of [300, 900, 4_000, 500, 2_500].entries()) ask(2_000 + index * 5_000 + gap)
  expect(pace.spread(1)).toBeGreaterThan(0.5)
  expect(pace.spread(0)).toBe(-1)
})

test('a row that comes late does not count against its buyer', () => {
  const { ask } = asker()
  ask(5_000, 1_000)

  expect([ask(3_000, 1_000), ask(4_990, 1_000)]).toEqual([0, 0])
})
