import { FakeClock } from '@bigtap/testkit'
import { expect, test } from 'vitest'
import { IntakeAge } from './intake-age.ts'

test('what is stored late has an age, once; nothing is old when nothing comes', () => {
  const clock = new FakeClock()
  const age = new IntakeAge(clock)
  age.onHeard(clock.now() - 3_000)
  age.onDone()

  expect(age.takeMs()).toBe(3_000)
  expect(age.takeMs()).toBe(0)
})

test('while the database is away the age grows, and a batch that comes again is no younger', () => {
  const clock = new FakeClock()
  const age = new IntakeAge(clock)
  const at = clock.now()
  age.onHeard(at)
  clock.advance(12_000)
  age.onHeard(at)

  expect(age.takeMs()).toBe(12_000)
})
