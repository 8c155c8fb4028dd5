import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ShedQueue } from './shed-queue.ts'
import { bytesPerOperation } from './test-support/bytes-per-operation.ts'

interface Ask {
  readonly id: number
  readonly rank: number
}

const RANKS = 4
const actions = fc.array(fc.option(fc.nat(RANKS - 1), { freq: 3 }), { maxLength: 200 })

test('behaves as a sorted list that is cut at its capacity', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), actions, (capacity, list) => {
      const queue = new ShedQueue<Ask>({ capacity, ranks: RANKS })
      const model: Ask[] = []
      for (const [id, rank] of list.entries()) {
        if (rank === null) expect(queue.shift()).toEqual(model.shift())
        else {
          const behind = model.findIndex((one) => one.rank > rank)
          model.splice(behind < 0 ? model.length : behind, 0, { id, rank })
          expect(queue.push({ id, rank }, rank)).toEqual(model.length > capacity ? model.pop() : undefined)
        }
        expect(queue.size).toBe(model.length)
      }
    }),
    { seed: 1 },
  )
})

test('nobody better falls while somebody worse waits', () => {
  fc.assert(
    fc.property(actions, (list) => {
      const queue = new ShedQueue<Ask>({ capacity: 5, ranks: RANKS })
      const waiting = new Set<Ask>()
      for (const [id, rank] of list.entries()) {
        if (rank === null) {
          const taken = queue.shift()
          if (taken) waiting.delete(taken)
          continue
        }
        const ask = { id, rank }
        waiting.add(ask)
        const fallen = queue.push(ask, rank)
        if (!fallen) continue
        waiting.delete(fallen)
        expect(Math.max(...[...waiting].map((one) => one.rank))).toBeLessThanOrEqual(fallen.rank)
      }
    }),
    { seed: 2 },
  )
})

test('a full queue takes 0 bytes per push', () => {
  const queue = new ShedQueue<Ask>({ capacity: 16, ranks: RANKS })
  const asks = Array.from({ length: 64 }, (_, id) => ({ id, rank: (id * 7) % RANKS }))
  const bytes = bytesPerOperation(20_000, (count) => {
    for (let n = 0; n < count; n++) {
      const ask = asks[n & 63]
      if (ask) queue.push(ask, ask.rank)
      if (n % 3 === 0) queue.shift()
    }
  })
  expect(bytes).toBeLessThan(0.5)
})
