import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { hashUid } from '@bigtap/kernel'
import { ACCESS_FLAG } from '@bigtap/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Requester } from './requester.ts'
import { STAGE_ONE_BYTES, StageOne } from './stage-one.ts'

const NOW = 1_800_000_000_000
const make = () => new StageOne({ seed: 42 })
const who = (uid: number, address = '10.0.0.1', device = '') => {
  const requester = new Requester().begin(address, device)
  requester.uid = uid
  return requester
}
/** Asks so often within a second; the last grade. */
function ask(stage: StageOne, one: Requester, times: number, from = NOW): number {
  let tier = 0
  for (let n = 0; n < times; n++) tier = stage.tierOf(one, from + (n * 900) / times)
  return tier
}

test('a buyer who asks as our page does is graded best; who holds the reload key falls behind, but before scripts', () => {
  const stage = make()
  for (let second = 0; second < 60; second++) expect(ask(stage, who(7), 2, NOW + second * 1_000)).toBe(0)
  expect(ask(stage, who(8), 10)).toBe(2)
})

test('a script that asks ever faster is graded worse with the very ask that goes too far, and better when it calms down', () => {
  const stage = make()
  expect(ask(stage, who(7), 12)).toBe(2)
  expect(ask(stage, who(7), 1, NOW + 901)).toBe(3)
  expect(ask(stage, who(7), 60)).toBe(4)
  expect(stage.tierOf(who(7), NOW + 3_000)).toBe(0)
})

test('an address alone never makes a buyer worse than tier 2, however many ask from it', () => {
  const stage = make()
  let tier = 0
  for (let n = 0; n < 30_000; n++) tier = Math.max(tier, stage.tierOf(who(1_000 + n, '10.9.9.9'), NOW))
  const odd = who(0, '10.9.9.9')
  for (let n = 0; n < 1_000; n++) stage.strike(odd, ACCESS_FLAG.badSignature | ACCESS_FLAG.honeypot, NOW)

  expect(tier).toBe(2)
  expect(stage.tierOf(who(5, '10.9.9.9'), NOW)).toBe(2)
  expect(stage.tierOf(who(5, '10.9.8.9'), NOW)).toBe(0)
})

test('one odd thing happens to anybody; many make the worst tier, which ends with its window', () => {
  const stage = make()
  const one = who(7)
  stage.strike(one, ACCESS_FLAG.badSignature, NOW)
  expect(one.flags).toBe(ACCESS_FLAG.badSignature)
  expect(stage.tierOf(one, NOW)).toBe(0)
  for (let n = 0; n < 20; n++) stage.strike(one, ACCESS_FLAG.foreignTicket, NOW + 100)

  expect(stage.tierOf(one, NOW + 101)).toBe(5)
  expect(stage.tierOf(one, NOW + 25_000)).toBe(0)
})

test('a path that no page links to says enough', () => {
  const stage = make()
  const one = who(7)
  stage.strike(one, ACCESS_FLAG.honeypot, NOW)
  stage.strike(one, ACCESS_FLAG.honeypot, NOW)

  expect(stage.tierOf(one, NOW)).toBe(3)
})

test('who comes back at once after each "later" is seen as a program; who waits, or double-clicks, is not', () => {
  const stage = make()
  const [program, person, clicker] = [who(7), who(8), who(9)]
  const askAfterLater = (one: Requester, at: number, afterMs: number) => {
    stage.toldToWait(one.uid, at)
    stage.tierOf(one, at + afterMs)
  }
  for (let n = 0; n < 5; n++) {
    askAfterLater(program, NOW + n * 3, 3)
    askAfterLater(person, NOW + n * 700, 400)
    askAfterLater(clicker, NOW + n * 700, 3)
  }

  expect(program.flags).toBe(ACCESS_FLAG.impossibleTiming)
  expect(stage.tierOf(program, NOW + 3_600)).toBeGreaterThanOrEqual(2)
  expect([person.flags, clicker.flags]).toEqual([0, 0])
  expect([stage.tierOf(person, NOW + 3_600), stage.tierOf(clicker, NOW + 3_600)]).toEqual([0, 0])
})

test("a new buyer's first ask is graded by nothing but the address: never worse than tier 2", () => {
  const asks = fc.array(fc.record({ uid: fc.integer({ min: 1, max: 50 }), address: fc.nat(3), flags: fc.nat(127) }))
  fc.assert(
    fc.property(asks, (list) => {
      const stage = make()
      const seen = new Set<number>()
      for (const { uid, address, flags } of list) {
        const one = who(uid, `10.0.0.${address}`)
        const tier = stage.tierOf(one, NOW)
        if (!seen.has(uid)) expect(tier).toBeLessThanOrEqual(2)
        seen.add(uid)
        stage.strike(one, flags, NOW)
      }
    }),
    { seed: 5, numRuns: 20 },
  )
})

test('memory is what was stated, before and after a million sprayed buyers, addresses and devices', () => {
  const stage = make()
  const one = new Requester()
  expect(stage.bytes).toBe(STAGE_ONE_BYTES)
  let worst = 0
  for (let n = 0; n < 1_000_000; n++) {
    one.begin(`10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`, '')
    one.device = n + 1
    one.deviceHash = hashUid(n + 1) | 0
    one.uid = n + 1
    // 100,000 asks a second.
    worst = Math.max(worst, stage.tierOf(one, NOW + n / 100))
    if (n % 5 === 0) stage.toldToWait(one.uid, NOW + n / 100)
  }

  expect(stage.bytes).toBe(STAGE_ONE_BYTES)
  // All come from one /8, so that their subnets are loud; no buyer is accused of what others do.
  expect(worst).toBeLessThanOrEqual(2)
}, 30_000)

// A uid beyond 2^31 is a number on the heap, 16 bytes where it is read.
test('an ask takes 0 bytes', () => {
  const stage = make()
  const one = who(12_345, '10.0.0.1', 'phone')
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const run = () => {
    for (let n = 0; n < 20_000; n++) stage.tierOf(one, NOW)
  }
  run()
  // The compiler's own garbage falls into some rounds; garbage of an ask would be in each.
  const bytes = Array.from({ length: 20 }, () => {
    collect()
    const before = process.memoryUsage().heapUsed
    run()
    return (process.memoryUsage().heapUsed - before) / 20_000
  })

  expect(Math.min(...bytes)).toBeLessThan(0.5)
})
