import type { ActivityDoc } from '@bigtap/domain'
import { expect, test } from 'vitest'
import { HELD_BACK_SECONDS, HeldBack } from './held-back.ts'
import { Requester } from './requester.ts'

const NOW = 1_800_000_000_000
const direct = { admission: 'direct' } as ActivityDoc
const lined = { admission: 'queue' } as ActivityDoc
const who = (uid: number, tier: number) => Object.assign(new Requester().begin('10.0.0.1', ''), { uid, tier })

test('a script that asks four times a second has one try in five seconds, and its window ends', () => {
  const heldBack = new HeldBack()
  let tries = 0
  for (let ms = 0; ms < 4 * HELD_BACK_SECONDS * 1_000; ms += 250)
    if (heldBack.take(who(7, 4), direct, NOW + ms) === 0) tries++

  expect(tries).toBe(4)
  expect(heldBack.count).toBe(76)
})

test('nobody else is held back: who is graded better, or stands in a line where trying more often gains nothing', () => {
  const heldBack = new HeldBack()
  for (let n = 0; n < 10; n++) {
    expect(heldBack.take(who(7, 3), direct, NOW)).toBe(0)
    expect(heldBack.take(who(7, 4), lined, NOW)).toBe(0)
  }
  expect(heldBack.take(who(7, 4), direct, NOW)).toBe(0)
})
