import { expect, test } from 'vitest'
import { Connections } from './connections.ts'

const settings = { limiters: ['http://127.0.0.1:1', 'http://127.0.0.1:2'], connectionsMax: 4, answerMsMax: 1_000 }
const speaker = (host: number, connections = 1) => ({ address: `127.16.0.${host}`, connections })

test('an address keeps its connections, and the one used longest ago makes room for a new one', () => {
  const all = new Connections(settings)
  const [first, second] = [all.of(speaker(1, 2)), all.of(speaker(2, 2))]
  expect(all.of(speaker(1, 2))).toBe(first)

  all.of(speaker(3, 2))

  expect(all).toMatchObject({ open: 4, evicted: 1 })
  expect(all.of(speaker(1, 2))).toBe(first)
  expect(all.of(speaker(2, 2))).not.toBe(second)
})

test('an address whose limiter is lost gets new connections', () => {
  const all = new Connections(settings)
  const first = all.of(speaker(1))

  all.lost('127.16.0.1', first)

  expect(all.open).toBe(0)
  expect(all.of(speaker(1))).not.toBe(first)
})
