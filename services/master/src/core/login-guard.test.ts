import { expect, test } from 'vitest'
import { LOGIN_LIMITS, LoginGuard } from './login-guard.ts'

test('an address that guessed ten times waits until its minute is over, others do not', () => {
  const guard = new LoginGuard()
  for (let tries = 0; tries < LOGIN_LIMITS.failuresMax; tries++) {
    expect(guard.waitMs('a', 1_000)).toBe(0)
    guard.onFailure('a', 1_000)
  }
  expect(guard.waitMs('a', 2_000)).toBe(59_000)
  expect(guard.waitMs('b', 2_000)).toBe(0)
  expect(guard.waitMs('a', 61_000)).toBe(0)
})

test('a right password forgives the wrong ones before it', () => {
  const guard = new LoginGuard()
  for (let tries = 0; tries < LOGIN_LIMITS.failuresMax; tries++) guard.onFailure('a', 0)
  guard.onSuccess('a')
  expect(guard.waitMs('a', 1)).toBe(0)
})

test('a million addresses take the memory of a thousand', () => {
  const guard = new LoginGuard()
  for (let address = 0; address < 5_000; address++) guard.onFailure(String(address), 0)
  expect(guard.size).toBe(LOGIN_LIMITS.addressesMax)
})
