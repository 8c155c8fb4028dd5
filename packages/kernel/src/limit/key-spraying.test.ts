import { expect, test } from 'vitest'
import { heapBytes } from '../test-support/bytes-per-operation.ts'
import { createLimiter } from './keyed-limiter.ts'

const KEYS_MAX = 200_000
const SPRAYED = 10_000_000
/** What the limiter's README says of one limit. */
const BYTES_MAX = 40_000_000
const START = 1_800_000_000_000

/** Uid n, or address n of the whole IPv4 space, spread so that neighbours share nothing. */
function keyOf(n: number): number | string {
  const spread = Math.imul(n, 0x9e3779b1) >>> 0
  if (n % 2 === 0) return 2 ** 32 + spread
  return `${spread >>> 24}.${(spread >>> 16) & 255}.${(spread >>> 8) & 255}.${spread & 255}`
}

test('ten million sprayed uids and addresses fill the memory of one limit and no more, and a buyer among them keeps his', () => {
  const limiter = createLimiter({ algorithm: 'token-bucket', seconds: 3_600, maxCount: 2, keysMax: KEYS_MAX })
  const before = heapBytes()
  let refused = 0
  for (let n = 0; n < SPRAYED; n++) {
    // An abuser who goes on is remembered through all of it; whoever comes for the first time passes.
    if (n % 100_000 === 0 && limiter.take('abuser', START) > 0) refused++
    if (limiter.take(keyOf(n), START) > 0) throw new Error(`key ${n} was refused at once`)
  }
  const bytes = heapBytes() - before

  expect(limiter.size).toBe(KEYS_MAX)
  expect(limiter.evicted).toBe(SPRAYED + 1 - KEYS_MAX)
  expect(refused).toBe(SPRAYED / 100_000 - 2)
  expect(bytes).toBeLessThan(BYTES_MAX)
}, 120_000)
