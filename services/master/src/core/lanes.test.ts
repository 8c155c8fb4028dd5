import { expect, test } from 'vitest'
import { isUrgent, needsTrial } from './lanes.ts'

test.each([
  ['a sale is paused', 'activity:1', { state: 'open' }, { state: 'paused' }, true],
  ['a layer opens', 'activity:1', { stage: 'shut' }, { stage: 'counter' }, true],
  ['a title changes', 'activity:1', { state: 'open', title: 'a' }, { state: 'open', title: 'b' }, false],
  ['an activity is new', 'activity:1', undefined, { state: 'scheduled' }, false],
  ['a SKU is paused', 'sku:1:1', { paused: false }, { paused: true }, true],
  ['a policy changes', 'sku:1:1', { paused: false, policy: 1 }, { paused: false, policy: 2 }, false],
  ['a SKU is sold out', 'status:1:1', { soldOut: false }, { soldOut: true }, true],
  ['a SKU is sold out at once', 'status:1:1', undefined, { soldOut: true, exhausted: false }, true],
  ['a SKU is on sale again', 'status:1:1', { soldOut: true }, { soldOut: false }, true],
  ['figures move', 'status:1:1', { soldOut: false, free: 3 }, { soldOut: false, free: 2 }, false],
  ['slots move', 'slots', { epoch: 1 }, { epoch: 2 }, true],
  ['pressure lowers the pace', 'pressure', undefined, { factor: 0.5 }, true],
  ['pressure lets it rise', 'pressure', { factor: 0.5 }, { factor: 0.6 }, false],
  ['a sale is removed', 'activity:1', { state: 'closed' }, null, false],
])('%s', (_what, key, before, after, expected) => {
  expect(isUrgent(key, before, after)).toBe(expected)
})

test.each([
  ['a title', 'activity:1', { state: 'open', title: 'a' }, { state: 'open', title: 'b' }, true],
  ['a pause and a policy together', 'sku:1:1', { paused: false, policy: 1 }, { paused: true, policy: 2 }, true],
  ['a pause alone', 'sku:1:1', { paused: false, policy: { a: 1 } }, { paused: true, policy: { a: 1 } }, false],
  ['a new activity', 'activity:1', undefined, { state: 'scheduled', title: 'a' }, true],
  ['a removal', 'activity:1', { title: 'a' }, null, false],
  ['figures', 'status:1:1', { free: 2 }, { free: 1 }, false],
  ['slots', 'slots', { epoch: 1 }, { epoch: 2 }, false],
])('%s: tried before or not', (_what, key, before, after, expected) => {
  expect(needsTrial(key, before, after)).toBe(expected)
})
