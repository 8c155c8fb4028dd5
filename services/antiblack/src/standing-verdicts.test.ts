import { beforeEach, expect, test } from 'vitest'
import { StandingVerdicts } from './standing-verdicts.ts'
import { liftOf, verdictOf } from './test-support/verdicts.ts'

const NOW = 5_000
let standing: StandingVerdicts

beforeEach(() => {
  standing = new StandingVerdicts({ standingMax: 3, mercyMs: 10_000 })
})

test('as bad a verdict is not said twice, a worse one or one that lasts longer is', () => {
  standing.hear(verdictOf({ tier: 3 }), 0, NOW)

  expect(standing.refusal(verdictOf({ tier: 3 }), NOW)).toBe('standing')
  expect(standing.refusal(verdictOf({ tier: 2, expiresAt: 900_000 }), NOW)).toBe('standing')
  expect(standing.refusal(verdictOf({ tier: 4 }), NOW)).toBeUndefined()
  expect(standing.refusal(verdictOf({ tier: 3, expiresAt: 120_000 }), NOW)).toBeUndefined()
})

test('a verdict that has run out stands in nobody’s way', () => {
  standing.hear(verdictOf(), 0, NOW)

  expect(standing.refusal(verdictOf(), 61_000)).toBeUndefined()
  expect(standing.get('uid:7', 61_000)).toBeUndefined()
})

test('a verdict that was only shown gives way to one that is enforced, and the other way round', () => {
  standing.hear(verdictOf({ tier: 5, isShadow: true }), 0, NOW)
  expect(standing.refusal(verdictOf({ tier: 2 }), NOW)).toBeUndefined()

  standing.hear(verdictOf({ tier: 5 }), 1, NOW)
  expect(standing.refusal(verdictOf({ tier: 4, isShadow: true }), NOW)).toBeUndefined()
  expect(standing.hear(verdictOf({ tier: 4, isShadow: true }), 2, NOW)).toBe('new')
})

test('no machine replaces the word of an operator, while it holds', () => {
  standing.hear(verdictOf({ tier: 0, by: 'ada' }), 0, NOW)

  expect(standing.refusal(verdictOf({ tier: 5 }), NOW)).toBe('operator')
  expect(standing.refusal(verdictOf({ tier: 5 }), 61_000)).toBeUndefined()
})

test('whom an operator has let off is left alone for a while', () => {
  standing.hear(verdictOf(), 0, NOW)

  expect(standing.hear(liftOf(), 1, NOW)).toBe('lifted')

  expect(standing.get('uid:7', NOW)).toBeUndefined()
  expect(standing.refusal(verdictOf({ tier: 5 }), NOW)).toBe('mercy')
  expect(standing.refusal(verdictOf({ tier: 5 }), 12_000)).toBeUndefined()
})

test('what antiblack lifts by itself, it may say again', () => {
  standing.hear(verdictOf(), 0, NOW)
  const lift = liftOf({ by: 'antiblack' })
  expect(standing.refusal(lift, NOW)).toBeUndefined()

  standing.hear(lift, 1, NOW)

  expect(standing.refusal(verdictOf(), NOW)).toBeUndefined()
})

test('what is heard late changes nothing of what is known already', () => {
  standing.hear(verdictOf({ tier: 5 }), 9, NOW)

  expect(standing.hear(liftOf(), 4, NOW)).toBe('old')

  expect(standing.get('uid:7', NOW)?.tier).toBe(5)
})

test('when another process replaces a worse verdict of ours by a milder one, that is noticed', () => {
  standing.hear(verdictOf({ tier: 5 }), 0, NOW)

  expect(standing.hear(verdictOf({ tier: 3 }), 1, NOW)).toBe('weaker')

  expect(standing.refusal(verdictOf({ tier: 5 }), NOW)).toBeUndefined()
})

test('what a board has lost may be said again, once', () => {
  const [kept, lost] = [verdictOf({ key: '1' }), verdictOf({ key: '2' })]
  standing.hear(kept, 0, NOW)
  standing.hear(lost, 1, NOW)

  standing.rewind()
  standing.hear(kept, 1, NOW)

  expect([...standing.missingSince(1, NOW)]).toEqual([lost])
  expect(standing.refusal(lost, NOW)).toBeUndefined()
  standing.hear(lost, 1, NOW)
  expect(standing.refusal(lost, NOW)).toBe('standing')
  expect([...standing.missingSince(1, NOW)]).toEqual([])
})

test('memory is bounded: one too many is counted, and those that have run out make room', () => {
  for (let uid = 1; uid <= 4; uid++) standing.hear(verdictOf({ key: `${uid}` }), uid, NOW)
  expect([standing.size, standing.forgotten]).toEqual([3, 1])

  standing.sweep(61_000)

  expect(standing.size).toBe(0)
})
