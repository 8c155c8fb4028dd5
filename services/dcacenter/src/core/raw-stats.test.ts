import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parsePushed, SKUS_MAX } from './raw-stats.ts'

const push = { nodeId: 'cart-1', role: 'cart', at: 1, figures: { cpu: 1 }, labels: { digest: 'd' }, skus: [] }

test('what a service pushed is taken when it says who and when', () => {
  expect(parsePushed(push)).toEqual(push)
  expect(parsePushed({ nodeId: 'a', role: 'b', at: 2 })).toEqual({
    ...{ nodeId: 'a', role: 'b', at: 2, figures: {}, labels: {}, skus: [] },
  })
})

test.each([
  ['nothing', null],
  ['a list', []],
  ['no node', { ...push, nodeId: undefined }],
  ['an empty node', { ...push, nodeId: '' }],
  ['a node with a line break', { ...push, nodeId: 'a\nb' }],
  ['a long role', { ...push, role: 'x'.repeat(65) }],
  ['no time', { ...push, at: 'now' }],
])('%s is no push', (_what, value) => {
  expect(parsePushed(value)).toBeUndefined()
})

test('SKUs without ids are left out, and so are those beyond the limit and labels that are no text', () => {
  const sku = { activityId: 1, skuId: 1, state: 'x', figures: {} }
  const parsed = parsePushed({
    ...push,
    labels: { digest: 7, ok: 'yes' },
    skus: [{ ...sku, skuId: -1 }, 5, ...new Array(SKUS_MAX).fill(sku)],
  })

  expect(parsed?.labels).toEqual({ ok: 'yes' })
  expect(parsed?.skus).toHaveLength(SKUS_MAX - 2)
})

test('whatever JSON is pushed, nothing is thrown', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (figures, skus) => {
      expect(() => parsePushed({ ...push, figures, skus })).not.toThrow()
    }),
    { seed: 6 },
  )
})
