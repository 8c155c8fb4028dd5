import { parseSharesDoc, SHARES_OLD_MS, type SharesDoc, shareOf } from '@bigtap/domain'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  EVEN_PART,
  type LimiterFact,
  SHARES_AGAIN_MS,
  SHARES_EVERY_MS,
  type ShareState,
  startShares,
  stepShares,
} from './share-keeper.ts'

const START = 1_800_000_000_000
const TICK_MS = 250
const facts = (rates: Readonly<Record<string, number | undefined>>, isNeeded = true) => ({
  limiters: Object.entries(rates).map(([nodeId, askRate]): LimiterFact => ({ nodeId, askRate })),
  isNeeded,
})

/** Lets rounds pass with the same facts; gives the state and what was published. */
function during(before: ShareState, from: number, ms: number, told: ReturnType<typeof facts>) {
  const docs: SharesDoc[] = []
  let state = before
  for (let now = from; now < from + ms; now += TICK_MS) {
    const step = stepShares(state, now, told)
    state = step.state
    if (step.publish !== undefined) docs.push(step.publish)
  }
  return { state, docs, last: docs.at(-1) }
}

const sharesIn = (doc: SharesDoc | undefined) =>
  Object.fromEntries(doc?.shares.map(({ nodeId, share }) => [nodeId, share]) ?? [])

test('the first limiters share evenly, at once', () => {
  const { publish } = stepShares(startShares(), START, facts({ a: undefined, b: undefined }))

  expect(sharesIn(publish)).toEqual({ a: 0.5, b: 0.5 })
})

test('shares follow the traffic within seconds, and who has none keeps a part', () => {
  const even = during(startShares(), START, 5_000, facts({ a: 100, b: 100 })).state

  const { last } = during(even, START + 5_000, 10_000, facts({ a: 900, b: 0 }))

  expect(sharesIn(last).a).toBeGreaterThan(0.85)
  expect(sharesIn(last).b).toBeGreaterThanOrEqual(EVEN_PART / 2 - 1e-6)
})

test('a limiter that dies gives its share back in the next round; one that comes has a fair one in it', () => {
  const { state } = during(startShares(), START, 5_000, facts({ a: 300, b: 100 }))

  const without = stepShares(state, START + 5_000, facts({ a: 300 }))
  expect(sharesIn(without.publish)).toEqual({ a: 1 })

  const { publish } = stepShares(without.state, START + 5_250, facts({ a: 300, c: undefined }))
  expect(sharesIn(publish)).toEqual({ a: 0.5, c: 0.5 })
})

test('the same traffic is not published again before it must be, and traffic that wavers is not followed', () => {
  const { state } = during(startShares(), START, 5_000, facts({ a: 100, b: 100 }))
  let wavering = state
  let published = 0
  for (let now = START + 5_000; now < START + SHARES_AGAIN_MS; now += TICK_MS) {
    const step = stepShares(wavering, now, facts({ a: 100 + (now % 3), b: 100 - (now % 2) }))
    wavering = step.state
    if (step.publish !== undefined) published++
  }

  expect(published).toBe(0)
})

test('while they are needed they are said anew long before limiters take them for old; else only when limiters change', () => {
  expect(SHARES_AGAIN_MS * 2).toBeLessThan(SHARES_OLD_MS)
  const quiet = facts({ a: 100, b: 100 })

  expect(during(startShares(), START, 60_000, quiet).docs.length).toBe(Math.ceil(60_000 / SHARES_AGAIN_MS))
  expect(during(startShares(), START, 60_000, { ...quiet, isNeeded: false }).docs.length).toBe(1)
})

test('a document that became old while nobody needed it is said anew in the first round in which it is needed', () => {
  const quiet = facts({ a: 100, b: 100 }, false)
  const { state } = during(startShares(), START, 60_000, quiet)

  expect(stepShares(state, START + 60_000, { ...quiet, isNeeded: true }).publish?.at).toBe(START + 60_000)
})

test('a new leader keeps what is published until it knows the traffic', () => {
  const doc = { shares: ['a', 'b'].map((nodeId) => ({ nodeId, share: nodeId === 'a' ? 0.8 : 0.2 })), at: START }

  const { docs } = during(startShares(doc, START + 2_000), START + 2_000, 5_000, facts({ a: undefined, b: undefined }))

  expect(docs.every(({ shares }) => Math.abs((shares[0]?.share ?? 0) - 0.8) < 0.1)).toBe(true)
})

test('a clock that is set back neither stops the shares nor repeats them in each round', () => {
  const { state } = during(startShares(), START, 5_000, facts({ a: 100, b: 100 }))

  const { docs } = during(state, START - 3_600_000, 5_000, facts({ a: 900, b: 100 }))

  expect(docs.length).toBeGreaterThan(0)
  expect(docs.length).toBeLessThanOrEqual(5_000 / SHARES_EVERY_MS + 1)
})

test('nobody lives: the last document stays', () => {
  const { state } = during(startShares(), START, 1_000, facts({ a: 1 }))

  expect(stepShares(state, START + 1_000, facts({})).publish).toBeUndefined()
})

const round = fc.record({
  elapsedMs: fc.integer({ min: -5_000, max: 40_000 }),
  isNeeded: fc.boolean(),
  rates: fc.dictionary(
    fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    fc.oneof(fc.constant(undefined), fc.constant(0), fc.double({ min: 0, max: 1e6, noNaN: true })),
  ),
})

test('whatever happens: a sound document, a sum of at most 1 and nearly that, and a floor for each', () => {
  fc.assert(
    fc.property(fc.array(round, { maxLength: 60 }), (rounds) => {
      let state = startShares()
      let now = START
      for (const { elapsedMs, isNeeded, rates } of rounds) {
        now += elapsedMs
        const step = stepShares(state, now, facts(rates, isNeeded))
        state = step.state
        if (step.publish === undefined) continue
        const { shares } = step.publish
        const sum = shares.reduce((total, { share }) => total + share, 0)
        expect(parseSharesDoc(step.publish)).toEqual({ ok: true, value: step.publish })
        expect(sum).toBeLessThanOrEqual(1 + 1e-12)
        expect(sum).toBeGreaterThan(0.999)
        for (const { share } of shares) expect(share).toBeGreaterThanOrEqual(EVEN_PART / shares.length - 1e-5)
        expect(shares.map(({ nodeId }) => nodeId).sort()).toEqual(Object.keys(rates).sort())
      }
    }),
    { seed: 1, numRuns: 300 },
  )
})

test('with steady traffic what limiters take comes to what the traffic says, wherever it began', () => {
  const rate = fc.integer({ min: 0, max: 5_000 })
  fc.assert(
    fc.property(fc.tuple(rate, rate, rate), fc.tuple(rate, rate, rate), ([a, b, c], [d, e, f]) => {
      fc.pre(d + e + f > 0)
      const { state } = during(startShares(), START, 5_000, facts({ x: a, y: b, z: c }))
      const end = during(state, START + 5_000, 40_000, facts({ x: d, y: e, z: f })).state
      for (const [nodeId, value] of Object.entries({ x: d, y: e, z: f })) {
        const due = EVEN_PART / 3 + (1 - EVEN_PART) * (value / (d + e + f))
        expect(Math.abs(shareOf(end.published, nodeId, START + 45_000) - due)).toBeLessThan(0.02)
      }
    }),
    { seed: 2 },
  )
})
