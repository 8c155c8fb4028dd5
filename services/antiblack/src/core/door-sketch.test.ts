import { mix } from '@bigtap/kernel'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DoorSketch } from './door-sketch.ts'

test('a knock is never counted for less than it is, until counts are halved', () => {
  const knocks = fc.array(fc.integer({ min: 0, max: 200 }), { maxLength: 1_000 })
  fc.assert(
    fc.property(knocks, (list) => {
      const door = new DoorSketch(1_024)
      const exact = new Map<number, number>()
      for (const key of list) {
        const count = (exact.get(key) ?? 0) + 1
        exact.set(key, count)
        expect(door.knock(mix(key))).toBeGreaterThanOrEqual(Math.min(255, count))
      }
    }),
  )
})

test('of those who come once nearly nobody is taken for one who comes eight times', () => {
  const door = new DoorSketch(4_096)
  let mistaken = 0
  for (let key = 0; key < 200_000; key++) if (door.knock(mix(key * 7 + 3)) >= 8) mistaken++

  expect(mistaken / 200_000).toBeLessThan(0.001)
})
