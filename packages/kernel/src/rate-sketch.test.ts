import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hashUid, mix } from './hash.ts'
import { RateSketch } from './rate-sketch.ts'
import { bytesPerOperation } from './test-support/bytes-per-operation.ts'

const WINDOW_MS = 1_000
const make = (width = 1_024, seed = 7) => new RateSketch({ width, windowMs: WINDOW_MS, seed })

test('a key is never said to have come less often than it did, but for the noise', () => {
  const step = fc.record({ key: fc.nat(300), afterMs: fc.nat(20) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), fc.nat(), (steps, seed) => {
      const sketch = make(256, seed)
      const exact = new Map<number, number[]>()
      let now = 1_000_000
      for (const { key, afterMs } of steps) {
        now += afterMs
        const said = sketch.add(hashUid(key + 1), now)
        const times = [...(exact.get(key) ?? []), now]
        exact.set(key, times)
        // Every time of the current window counts in full, those of the one before by its part: the fewest possible.
        const startedAt = 1_000_000 + (steps[0]?.afterMs ?? 0)
        const windowAt = now - ((now - startedAt) % WINDOW_MS)
        const current = times.filter((at) => at >= windowAt).length
        expect(said).toBeGreaterThanOrEqual(current - sketch.noise)
      }
    }),
    { seed: 3 },
  )
})

test('counts few keys exactly, and forgets them as the window goes on', () => {
  const sketch = make()
  for (let n = 0; n < 100; n++) sketch.add(hashUid(5), 5_000)

  expect(sketch.count(hashUid(5), 5_999)).toBeGreaterThan(99)
  expect(sketch.count(hashUid(6), 5_999)).toBe(0)
  expect(sketch.count(hashUid(5), 6_500)).toBe(50)
  expect(sketch.count(hashUid(5), 7_000)).toBe(0)
  expect(sketch.count(hashUid(5), 4_000)).toBe(0)
})

test('10 million sprayed keys take no more memory, accuse nobody, and hide nobody who is loud', () => {
  const sketch = make(65_536)
  const { bytes } = sketch
  const [honest, loud] = [hashUid(1), hashUid(2)]
  let accused = 0
  for (let n = 0; n < 10_000_000; n++) {
    sketch.add(mix(n), 9_000)
    if (n % 10_000 === 0) sketch.add(loud, 9_000)
    if (n % 2_000_000 === 0) accused = Math.max(accused, sketch.add(honest, 9_000))
  }

  expect(sketch.bytes).toBe(bytes)
  expect(bytes).toBe(2 ** 20)
  expect(accused).toBeLessThan(60)
  expect(sketch.count(loud, 9_000)).toBeGreaterThan(800)
}, 30_000)

test('an addition takes 0 bytes', () => {
  const sketch = make()
  let now = 1_000
  let sum = 0
  const bytes = bytesPerOperation(20_000, (count) => {
    for (let n = 0; n < count; n++) {
      now += n & 1
      sum += sketch.add(mix(n) | 0, now) & 1
    }
  })
  expect(sum).toBeGreaterThanOrEqual(0)
  expect(bytes).toBeLessThan(0.5)
})
