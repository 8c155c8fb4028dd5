import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ShedQueue } from './shed-queue.ts'
import { NO_SLOT } from './slots.ts'
import { bytesPerOperation } from './test-support/bytes-per-operation.ts'

interface Ask {
  readonly place: number
  readonly rank: number
}

/** More than one word of the set. */
const RANKS = 70
const rank = fc.integer({ min: 0, max: RANKS - 1 })
const action = fc.oneof(
  { weight: 4, arbitrary: fc.record({ push: rank }) },
  fc.record({ remove: fc.nat(200) }),
  fc.constantFrom('shift' as const, 'pop' as const),
)
const actions = fc.array(action, { maxLength: 200 })
const placeOf = (ask: Ask | undefined) => ask?.place ?? NO_SLOT

test('behaves as a sorted list that is cut at its capacity, whatever is taken out of it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), actions, (capacity, list) => {
      const queue = new ShedQueue({ capacity, ranks: RANKS, places: 200 })
      const model: Ask[] = []
      for (const [place, one] of list.entries()) {
        if (one === 'shift') expect(queue.shift()).toBe(placeOf(model.shift()))
        else if (one === 'pop') {
          const worst = model.at(-1)
          if (worst) model.splice(model.lastIndexOf(worst), 1)
          expect(queue.pop()).toBe(placeOf(worst))
        } else if ('remove' in one) {
          const at = model.findIndex((ask) => ask.place === one.remove)
          if (at >= 0) model.splice(at, 1)
          expect(queue.remove(one.remove)).toBe(at >= 0)
        } else {
          const behind = model.findIndex((ask) => ask.rank > one.push)
          model.splice(behind < 0 ? model.length : behind, 0, { place, rank: one.push })
          expect(queue.push(place, one.push)).toBe(model.length > capacity ? placeOf(model.pop()) : NO_SLOT)
        }
        expect(queue.size).toBe(model.length)
        expect(queue.best).toBe(model[0]?.rank ?? NO_SLOT)
        expect(queue.worst).toBe(model.at(-1)?.rank ?? NO_SLOT)
        if (model[0]) expect(queue.oldestOf(model[0].rank)).toBe(model[0].place)
      }
    }),
    { seed: 1 },
  )
})

test('nobody better falls while somebody worse waits', () => {
  fc.assert(
    fc.property(fc.array(fc.option(rank, { freq: 3 }), { maxLength: 200 }), (list) => {
      const queue = new ShedQueue({ capacity: 5, ranks: RANKS, places: 200 })
      const waiting = new Map<number, number>()
      for (const [place, pushed] of list.entries()) {
        if (pushed === null) {
          waiting.delete(queue.shift())
          continue
        }
        waiting.set(place, pushed)
        const fallen = queue.push(place, pushed)
        if (fallen === NO_SLOT) continue
        const fallenRank = waiting.get(fallen) ?? NO_SLOT
        waiting.delete(fallen)
        expect(Math.max(...waiting.values())).toBeLessThanOrEqual(fallenRank)
      }
    }),
    { seed: 2 },
  )
})

test('a full queue takes 0 bytes per push', () => {
  const queue = new ShedQueue({ capacity: 16, ranks: RANKS, places: 64 })
  const bytes = bytesPerOperation(20_000, (count) => {
    for (let n = 0; n < count; n++) {
      queue.remove(n & 63)
      queue.push(n & 63, (n * 7) % RANKS)
      if (n % 3 === 0) queue.shift()
    }
  })
  expect(bytes).toBeLessThan(0.5)
})
