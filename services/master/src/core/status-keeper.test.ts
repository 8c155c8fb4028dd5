import { type Figures, NO_FIGURES } from '@bigtap/domain'
import { expect, test } from 'vitest'
import { flagsOf, nextStatus } from './status-keeper.ts'

const figures = (more: Partial<Figures>): Figures => ({ ...NO_FIGURES, stock: 10, quota: 10, ...more })
const selling = figures({ free: 4, held: 2, sold: 4, pool: 4, redeemed: 6 })
const status = (now: number, of: Figures, last?: ReturnType<typeof nextStatus>) =>
  nextStatus(last, { activityId: 1, skuId: 2, figures: of }, now)

test('a SKU is sold out when nothing is free, held, leased or granted, or when all is sold', () => {
  expect(flagsOf(figures({ sold: 10, redeemed: 10 }))).toEqual({ soldOut: true, exhausted: false })
  expect(flagsOf(figures({ stock: 10, sold: 10, outstanding: 2 }))).toEqual({ soldOut: true, exhausted: false })
  expect(flagsOf(figures({ stock: 0 }))).toEqual({ soldOut: true, exhausted: false })
})

test('a SKU whose last units are held may come back: exhausted, not sold out', () => {
  expect(flagsOf(figures({ held: 1, sold: 9, redeemed: 10 }))).toEqual({ soldOut: false, exhausted: true })
  expect(flagsOf(figures({ free: 1, sold: 9, outstanding: 1, redeemed: 9 }))).toEqual({
    soldOut: false,
    exhausted: true,
  })
  expect(flagsOf(selling)).toEqual({ soldOut: false, exhausted: false })
})

test('the first status and every flip are told at once', () => {
  const first = status(1_000, selling)
  expect(first).toMatchObject({ soldOut: false, free: 4, at: 1_000 })
  const out = status(1_001, figures({ sold: 10, redeemed: 10 }), first)
  expect(out).toMatchObject({ soldOut: true, at: 1_001 })
  expect(status(1_002, selling, out)).toMatchObject({ soldOut: false })
})

test('figures that only move are told once a second, and silence is kept when nothing moves', () => {
  const first = status(1_000, selling)
  const moved = figures({ free: 3, held: 3, sold: 4, pool: 3, redeemed: 7 })
  expect(status(1_999, moved, first)).toBeUndefined()
  expect(status(2_000, moved, first)).toMatchObject({ free: 3 })
  expect(status(60_000, selling, first)).toBeUndefined()
})

test('a clock that was set back does not silence a SKU', () => {
  const first = status(1_000_000, selling)
  expect(status(10_000, figures({ free: 3, held: 3, sold: 4, pool: 3, redeemed: 7 }), first)).toMatchObject({ free: 3 })
})

test('a line that moves is told once a second, though nothing is sold', () => {
  const line = { cursor: 10, joined: 90, waiting: 80, perSecond: 0 }
  const told = (now: number, cursor: number, last?: ReturnType<typeof nextStatus>) =>
    nextStatus(last, { activityId: 1, skuId: 2, figures: selling, line: { ...line, cursor } }, now)
  const first = told(1_000, 10)

  expect(first).toMatchObject({ line })
  expect(told(1_500, 12, first)).toBeUndefined()
  expect(told(2_000, 12, first)).toMatchObject({ line: { cursor: 12 } })
  expect(told(9_000, 10, first)).toBeUndefined()
})
