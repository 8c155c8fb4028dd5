import { expect, test } from 'vitest'
import { FakeClock, SeededRandom, waitFor } from './index.ts'

test('the same seed draws the same, another seed something else', () => {
  const draw = (seed: number) => {
    const random = new SeededRandom(seed)
    return [...Array.from({ length: 5 }, () => random.next()), ...random.bytes(4)]
  }

  expect(draw(7)).toEqual(draw(7))
  expect(draw(7)).not.toEqual(draw(8))
})

test('draws lie in [0, 1) and spread over it', () => {
  const random = new SeededRandom(1)
  const draws = Array.from({ length: 10_000 }, () => random.next())

  expect(draws.every((draw) => draw >= 0 && draw < 1)).toBe(true)
  expect(draws.reduce((sum, draw) => sum + draw, 0) / draws.length).toBeCloseTo(0.5, 1)
})

test('the clock moves only when it is told', () => {
  const clock = new FakeClock(100)

  clock.advance(5)

  expect([clock.now(), clock.monotonic()]).toEqual([105, 105])
})

test('waiting gives what came, or says what did not', async () => {
  let tries = 0

  expect(await waitFor('three tries', () => ++tries >= 3 && tries)).toBe(3)
  await expect(waitFor('the moon', () => false, 30)).rejects.toThrow('in vain for: the moon')
})
