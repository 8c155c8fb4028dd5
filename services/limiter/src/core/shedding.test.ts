import { COHORT_COUNT, RANK_COUNT, VERDICT } from '@bigtap/domain'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AskTable } from './ask-table.ts'
import { problem, retryReply } from './replies.ts'
import { NO_OVERTAKING_MS } from './shed-lane.ts'
import { Shedding } from './shedding.ts'

const STEP_MS = 1
const TICK_MS = 20
const ASK_MS = 100

interface Fate {
  readonly at: number
  readonly tier: number
  readonly what: 'sent' | 'shed' | 'answered' | 'late'
  /** From the request to the answer. */
  readonly ms: number
}

/** Requests per second by tier, from a time on. */
interface Load {
  readonly fromMs: number
  readonly perSecond: readonly number[]
}

/** A limiter's table and queue before a Middle that answers so many a second, in the order they came; virtual time. */
class Rig {
  readonly fates: Fate[] = []
  now = 0
  capacity: number
  readonly #asks: AskTable
  readonly #shedding: Shedding
  readonly #atMiddle: number[] = []
  readonly #levels = new Map<number, number>()
  readonly #begun = new Map<number, number>()
  #uid = 0
  #credit = 0
  #state = 1

  constructor(capacity: number, places = 4_096) {
    this.capacity = capacity
    this.#asks = new AskTable({ capacity: places, askMsMax: ASK_MS })
    this.#shedding = new Shedding(
      { tickMs: TICK_MS },
      {
        asks: this.#asks,
        laneOf: () => 0,
        send: (askId) => {
          this.#fate(askId, 'sent')
          this.#atMiddle.push(askId)
          return true
        },
        onShed: (askId) => {
          this.#fate(askId, 'shed')
          this.#asks.settle(askId, retryReply('overloaded', 0))
        },
        onNoLink: () => undefined,
      },
    )
  }

  get threshold(): number {
    return this.#shedding.threshold
  }

  request(level: number): void {
    const uid = ++this.#uid
    if (!this.#shedding.isShed(uid, level, this.now) && this.#open(uid, level)) return
    this.#note('shed', level, 0)
  }

  #open(uid: number, level: number): boolean {
    let askId = this.#asks.open(uid, 1, 1, this.now, { reply: () => undefined })
    if (askId < 0 && this.#shedding.makeRoom(uid, level))
      askId = this.#asks.open(uid, 1, 1, this.now, { reply: () => undefined })
    if (askId < 0) return false
    this.#levels.set(askId, level)
    this.#begun.set(askId, this.now)
    this.#shedding.grade(askId, level)
    return this.#shedding.ask(askId, uid, 1, 1)
  }

  /** One step of time, with so many requests of each tier a second. */
  step(perSecond: readonly number[]): void {
    this.now += STEP_MS
    const due: number[] = []
    for (const [tier, rate] of perSecond.entries()) {
      const count = Math.floor((rate * this.now) / 1_000) - Math.floor((rate * (this.now - STEP_MS)) / 1_000)
      for (let n = 0; n < count; n++) due.push(tier * COHORT_COUNT + this.#random() * COHORT_COUNT)
    }
    // In any order, not tier by tier.
    for (; due.length > 0; ) this.request(due.splice(Math.floor(this.#random() * due.length), 1)[0] ?? 0)
    this.#answer()
    if (this.now % TICK_MS === 0) {
      this.#asks.sweep(this.now, () => problem('internal'))
      this.#shedding.tick(this.now)
    }
  }

  run(loads: readonly Load[], untilMs: number): void {
    while (this.now < untilMs) this.step(loads.findLast(({ fromMs }) => fromMs <= this.now)?.perSecond ?? [])
  }

  share(tier: number, fromMs: number, untilMs: number): number {
    const own = this.fates.filter((fate) => fate.tier === tier && fate.at > fromMs && fate.at <= untilMs)
    const answered = own.filter(({ what }) => what === 'answered').length
    return answered / Math.max(1, own.filter(({ what }) => what !== 'sent').length)
  }

  perSecond(fromMs: number, untilMs: number): number {
    const answered = this.fates.filter(({ what, at }) => what === 'answered' && at > fromMs && at <= untilMs)
    return (answered.length / (untilMs - fromMs)) * 1_000
  }

  #answer(): void {
    this.#credit = Math.min(this.#credit + (this.capacity * STEP_MS) / 1_000, 50)
    while (this.#credit >= 1 && this.#atMiddle.length > 0) {
      this.#credit--
      const askId = this.#atMiddle.shift() ?? 0
      const isLate = this.#asks.uidOf(askId) === 0
      this.#fate(askId, isLate ? 'late' : 'answered')
      this.#shedding.onVerdict(askId, VERDICT.queued, this.now)
      this.#asks.settle(askId, problem('sold_out'))
    }
  }

  #fate(askId: number, what: Fate['what']): void {
    this.#note(what, this.#levels.get(askId) ?? 0, this.now - (this.#begun.get(askId) ?? this.now))
  }

  #note(what: Fate['what'], level: number, ms: number): void {
    this.fates.push({ at: this.now, tier: Math.floor(level / COHORT_COUNT), what, ms })
  }

  #random(): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0
    return this.#state / 2 ** 32
  }
}

/** Whoever was let in within a second after a better tier was shed. */
function overtakings(fates: readonly Fate[]): Fate[] {
  const shedAt = Array.from({ length: RANK_COUNT / COHORT_COUNT }, () => Number.NEGATIVE_INFINITY)
  return fates.filter(({ what, tier, at }) => {
    if (what === 'shed') shedAt[tier] = at
    return what === 'sent' && shedAt.slice(0, tier).some((better) => at - better < NO_OVERTAKING_MS)
  })
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

const CAPACITY = 4_000
/** 10 times the capacity: 95 % of it from normal buyers, the rest from those who were graded worse. */
const TENFOLD = [0.95 * CAPACITY, 0, 0, 3 * CAPACITY, 3 * CAPACITY, 3.05 * CAPACITY]

describe('at ten times the load that Middle can take, nine tenths of it abusive', () => {
  const rig = new Rig(CAPACITY)
  rig.run(
    [
      { fromMs: 0, perSecond: [0.5 * CAPACITY] },
      { fromMs: 2_000, perSecond: TENFOLD },
    ],
    8_000,
  )

  test('normal buyers are answered on merit, from the first second on', () => {
    expect(rig.share(0, 2_000, 8_000)).toBeGreaterThan(0.995)
  })

  test('as many are answered as Middle can, at least 95 %', () => {
    expect(rig.perSecond(3_000, 8_000)).toBeGreaterThan(0.95 * CAPACITY)
  })

  test('the worst are shed within a second after the step, and stay so', () => {
    for (const tier of [4, 5]) expect(rig.share(tier, 3_000, 8_000)).toBeLessThan(0.01)
  })

  test('who is let in is answered within 20 ms', () => {
    const times = rig.fates.filter(({ what, at }) => what === 'answered' && at > 3_000).map(({ ms }) => ms)
    expect(percentile(times, 0.99)).toBeLessThanOrEqual(20)
  })

  test('nobody is let in within a second after a better one was shed', () => {
    expect(overtakings(rig.fates)).toEqual([])
  })
})

test('when the rush is over, everybody is let in again', () => {
  const rig = new Rig(CAPACITY)
  rig.run(
    [
      { fromMs: 0, perSecond: TENFOLD },
      { fromMs: 2_000, perSecond: [1_000, 0, 0, 500, 500, 500] },
    ],
    9_000,
  )

  expect(rig.threshold).toBe(RANK_COUNT)
  for (const tier of [0, 3, 4, 5]) expect(rig.share(tier, 7_000, 9_000)).toBe(1)
})

test('when even the best are too many, some of them are shed, nobody worse is let in, and Middle stays busy', () => {
  const rig = new Rig(CAPACITY)
  rig.run([{ fromMs: 0, perSecond: [2 * CAPACITY, 0, 0, CAPACITY] }], 6_000)

  expect(rig.share(3, 1_500, 6_000)).toBe(0)
  expect(rig.perSecond(2_000, 6_000)).toBeGreaterThan(0.9 * CAPACITY)
  expect(overtakings(rig.fates)).toEqual([])
})

test('asks that ran out of time at Middle do not keep it busy for nobody: after a standstill buyers are answered again', () => {
  const rig = new Rig(1_000)
  const load = [{ fromMs: 0, perSecond: [850, 0, 0, 0, 0, 9_000] }]
  rig.run(load, 1_000)
  rig.capacity = 0
  rig.run(load, 1_400)
  rig.capacity = 1_000
  rig.run(load, 4_000)

  expect(rig.share(0, 2_400, 4_000)).toBeGreaterThan(0.995)
  expect(rig.perSecond(2_400, 4_000)).toBeGreaterThan(900)
})

test('whatever load comes, nobody is let in within a second after a better one was shed', () => {
  const rates = fc.array(fc.integer({ min: 0, max: 4_000 }), { minLength: 6, maxLength: 6 })
  const loads = fc.array(rates, { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(
      loads,
      fc.integer({ min: 200, max: 6_000 }),
      fc.integer({ min: 32, max: 2_048 }),
      (list, capacity, places) => {
        const rig = new Rig(capacity, places)
        const plan = list.map((perSecond, index) => ({ fromMs: index * 500, perSecond }))
        rig.run(plan, list.length * 500)
        // Middle becomes slow in the middle of it all.
        rig.capacity = capacity / 4
        rig.run(plan, list.length * 500 + 700)
        expect(overtakings(rig.fates)).toEqual([])
      },
    ),
    { seed: 11, numRuns: 40 },
  )
})
