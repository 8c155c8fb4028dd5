import { expect, test } from 'vitest'
import { liftOf, verdictOf } from './test-support/verdicts.ts'
import { VerdictOutbox } from './verdict-outbox.ts'

const keysOf = (verdicts: readonly { key: string }[]) => verdicts.map(({ key }) => key)
const some = (...keys: string[]) => keys.map((key) => verdictOf({ key }))

test('a newer verdict about a subject replaces the one that waits', () => {
  const outbox = new VerdictOutbox({ outboxMax: 10 })
  const newer = verdictOf({ tier: 5 })
  outbox.push(verdictOf({ tier: 3 }))
  outbox.push(newer)

  expect(outbox.take(10, 2_000)).toEqual([newer])
})

test('too many: the oldest fall, and are counted', () => {
  const outbox = new VerdictOutbox({ outboxMax: 2 })
  for (const verdict of some('1', '2', '3')) outbox.push(verdict)

  expect(keysOf(outbox.take(10, 2_000))).toEqual(['2', '3'])
  expect(outbox.dropped).toBe(1)
})

test('what runs out while it waits is not said; a lift is', () => {
  const outbox = new VerdictOutbox({ outboxMax: 10 })
  outbox.push(verdictOf({ key: '1' }))
  outbox.push(liftOf({ key: '2' }))

  expect(keysOf(outbox.take(10, 61_000))).toEqual(['2'])
  expect(outbox.expired).toBe(1)
})

test('what could not be said goes before the others, but for what is newer by now', () => {
  const outbox = new VerdictOutbox({ outboxMax: 10 })
  for (const verdict of some('1', '2')) outbox.push(verdict)
  const taken = outbox.take(10, 2_000)
  const newer = verdictOf({ key: '2', tier: 5 })
  outbox.push(verdictOf({ key: '3' }))
  outbox.push(newer)

  outbox.putBack(taken)

  const again = outbox.take(10, 2_000)
  expect(keysOf(again)).toEqual(['1', '2', '3'])
  expect(again[1]).toBe(newer)
})
