/** The simulator itself: it repeats, it finds nothing where nothing is wrong, and it finds what is wrong. */

import { describe, expect, test } from 'vitest'
import { NO_MISTAKES } from './platform/site.ts'
import { runSeed } from './simulation.ts'

const SEEDS = 20
const LONG_MS = 300_000

describe('a run', () => {
  test(
    'does the same again, event for event',
    async () => {
      const first = await runSeed(5)
      const second = await runSeed(5)
      const other = await runSeed(6)

      expect(second.hash).toBe(first.hash)
      expect(second.events).toBe(first.events)
      expect(other.hash).not.toBe(first.hash)
    },
    LONG_MS,
  )

  test(
    `of ${SEEDS} seeds holds what must hold, and meets what it is meant to meet`,
    async () => {
      const totals = { orders: 0, rebuilds: 0, failovers: 0, moves: 0 }
      for (let seed = 1; seed <= SEEDS; seed++) {
        const { violation, counts } = await runSeed(seed)
        expect(violation, `seed ${seed}`).toBeUndefined()
        for (const name of Object.keys(totals) as (keyof typeof totals)[]) totals[name] += counts[name]
      }

      expect(totals.orders).toBeGreaterThan(SEEDS * 10)
      expect(totals.rebuilds).toBeGreaterThan(0)
      expect(totals.failovers).toBeGreaterThan(0)
      expect(totals.moves).toBeGreaterThan(SEEDS * 1024)
    },
    LONG_MS,
  )
})

/** Seeds that found something; what they found is named by what must hold. */
const FOUND: Readonly<Record<string, number>> = {
  'an order that only one of two counters remembers outlives a rebuild by the other': 61,
  'the place of an order that finds no unit in a rebuild goes back to the pool': 166,
}

describe('what a seed has found', () => {
  test.each(Object.entries(FOUND))(
    '%s',
    async (_name, seed) => {
      expect((await runSeed(seed)).violation).toBeUndefined()
    },
    LONG_MS,
  )
})

/** Where the search begins, so that a test need not look through all the seeds before. */
const FROM: Readonly<Record<keyof typeof NO_MISTAKES, number>> = {
  fencing: 1,
  idempotency: 1,
  slotOwner: 250,
  turns: 8,
  logBeforeReply: 1,
}

describe('a check that is left out on purpose', () => {
  test.each(Object.keys(NO_MISTAKES) as (keyof typeof NO_MISTAKES)[])(
    '%s is missed within 40 seeds',
    async (name) => {
      const found = await firstViolation(name, FROM[name], 40)

      expect(found).toBeDefined()
    },
    LONG_MS,
  )
})

async function firstViolation(name: string, from: number, seeds: number): Promise<string | undefined> {
  for (let seed = from; seed < from + seeds; seed++) {
    const { violation } = await runSeed(seed, { mistakes: { [name]: true } })
    if (violation !== undefined) return violation.what
  }
  return undefined
}
