import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NO_VERDICTS } from '../core/ports.ts'
import { AddressCaps } from './address-caps.ts'
import { createCapOf } from './cap-of.ts'

const clock = { now: () => 0, monotonic: () => 0 }

test('an address never has more than its cap, whatever comes and goes, and nothing is remembered of who has left', () => {
  const step = fc.record({ address: fc.constantFrom('a', 'b', 'c'), isIn: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const caps = new AddressCaps((address) => ({ connectionsMax: address === 'a' ? 1 : 3, sendersMax: 1 }))
      const open: Record<string, number> = { a: 0, b: 0, c: 0 }
      for (const { address, isIn } of steps) {
        const count = open[address] ?? 0
        if (isIn && caps.connect(address)) open[address] = count + 1
        else if (!isIn && count > 0) {
          caps.disconnect(address)
          open[address] = count - 1
        }
        expect(open[address]).toBeLessThanOrEqual(address === 'a' ? 1 : 3)
      }
      expect(caps.size).toBe(Object.values(open).filter((count) => count > 0).length)
    }),
    { seed: 6 },
  )
})

test('a bad address may have less, a trusted proxy what it needs', () => {
  const verdicts = {
    ...NO_VERDICTS,
    tierOf: (_uid: number, address: string) => (address === '10.0.0.6' ? 4 : 2) as 2 | 4,
  }
  const capOf = createCapOf(
    { connectionsMax: 4_096 },
    { clock, verdicts, isTrusted: (address) => address === '10.0.0.1' },
  )

  expect(capOf('10.0.0.5')).toEqual({ connectionsMax: 4_096, sendersMax: 512 })
  expect(capOf('10.0.0.6')).toEqual({ connectionsMax: 256, sendersMax: 32 })
  expect(capOf('10.0.0.1').connectionsMax).toBe(Number.POSITIVE_INFINITY)
})
