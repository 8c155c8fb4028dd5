import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LEASE_MS, Leadership } from './leadership.ts'

const won = (fence = 5) => {
  const leadership = new Leadership()
  expect(leadership.onAnswer(fence, { sentAt: 0, now: 1 })).toBe('won')
  return leadership
}

test('a leader acts until 1.2 s after it sent the last renewal that was answered', () => {
  const leadership = won()
  expect(leadership.onAnswer(5, { sentAt: 400, now: 900 })).toBe('kept')

  expect(leadership.epochAt(1_599)).toBe(5)
  expect(leadership.epochAt(1_600)).toBe(0)
  expect([leadership.hasLapsed(1_599), leadership.hasLapsed(1_600), leadership.hasLapsed(1_601)]).toEqual([
    false,
    true,
    false,
  ])
})

test('an answer that comes after the time has run out does not bring the leadership back', () => {
  expect(won().onAnswer(5, { sentAt: 400, now: 1_300 })).toBe('lost')
})

test('a standby that hears of its lease too late does not begin on it', () => {
  expect(new Leadership().onAnswer(5, { sentAt: 0, now: 1_200 })).toBe('waiting')
})

test('a lease that somebody else has, or that was taken anew, ends the leadership', () => {
  expect(won().onAnswer(0, { sentAt: 400, now: 401 })).toBe('lost')
  expect(won().onAnswer(6, { sentAt: 400, now: 401 })).toBe('lost')
})

test('a lower fence is that of an emptied Redis: the leader goes on', () => {
  const leadership = won()
  expect(leadership.onAnswer(1, { sentAt: 400, now: 401 })).toBe('emptied')
  expect(leadership.epochAt(1_500)).toBe(5)
})

/** The lease in Redis, as lease-name-2.lua has it. */
class Lease {
  #holder = ''
  #until = 0
  #fence = 0

  hold(owner: string, now: number): number {
    if (this.#holder !== '' && now >= this.#until) this.#holder = ''
    if (this.#holder !== '' && this.#holder !== owner) return 0
    if (this.#holder === '') this.#fence++
    this.#holder = owner
    this.#until = now + LEASE_MS.ttl
    return this.#fence
  }
}

interface Call {
  readonly who: number
  readonly sentAt: number
  readonly arrivesAt: number
  readonly answeredAt: number
}

test('never two at once, and epochs only rise, however long renewals and answers take and whoever stands still', () => {
  const delays = fc.record({ there: fc.integer({ min: 0, max: 2_500 }), back: fc.integer({ min: 0, max: 2_500 }) })
  const pause = fc.record({ who: fc.nat(1), from: fc.nat(20_000), forMs: fc.nat(4_000) })
  fc.assert(
    fc.property(fc.array(delays, { minLength: 20 }), fc.array(pause, { maxLength: 4 }), (many, pauses) => {
      const lease = new Lease()
      const nodes = [0, 1].map((who) => ({ who, owner: `${who}`, leadership: new Leadership(), sentAt: -400 }))
      const isPaused = (who: number, now: number) =>
        pauses.some((one) => one.who === who && now >= one.from && now < one.from + one.forMs)
      let calls: (Call & { fence?: number })[] = []
      let newest = 0
      for (let now = 0; now < 25_000; now += 10) {
        for (const call of calls)
          if (call.fence === undefined && now >= call.arrivesAt)
            call.fence = lease.hold(nodes[call.who]?.owner ?? '', now)
        for (const node of nodes) {
          if (isPaused(node.who, now)) continue
          const answered = calls.filter(
            ({ who, fence, answeredAt }) => who === node.who && fence !== undefined && now >= answeredAt,
          )
          calls = calls.filter((call) => !answered.includes(call))
          for (const { fence = 0, sentAt } of answered)
            if (node.leadership.onAnswer(fence, { sentAt, now }) === 'lost') node.owner = `${node.who}:${now}`
          if (node.leadership.hasLapsed(now)) node.owner = `${node.who}:${now}`
          if (now - node.sentAt < LEASE_MS.renewEvery || calls.some(({ who }) => who === node.who)) continue
          const { there = 1, back = 1 } = many[(now / 10) % many.length] ?? {}
          node.sentAt = now
          calls.push({ who: node.who, sentAt: now, arrivesAt: now + there, answeredAt: now + there + back })
        }
        const acting = nodes.map(({ leadership }) => leadership.epochAt(now)).filter((epoch) => epoch > 0)
        expect(acting.length).toBeLessThanOrEqual(1)
        for (const epoch of acting) expect(epoch).toBeGreaterThanOrEqual(newest)
        newest = Math.max(newest, ...acting)
      }
    }),
    { numRuns: 100 },
  )
})
