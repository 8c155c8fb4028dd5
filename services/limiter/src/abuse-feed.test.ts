import type { AbuseVerdict } from '@bigtap/domain'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import type { AbuseHead } from '@bigtap/store'
import { FakeClock } from '@bigtap/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AbuseFeed } from './abuse-feed.ts'
import { KnownVerdicts } from './core/known-verdicts.ts'

const NOW = 1_800_000_000_000

/** The board as it is told of, in memory. */
class Board {
  run = 1
  born = 0
  first = 0
  log: AbuseVerdict[] = []
  inForce = new Map<string, AbuseVerdict>()
  isAway = false
  reads: string[] = []

  say(...verdicts: AbuseVerdict[]): { from: number; verdicts: AbuseVerdict[] } {
    if (this.born === 0) this.born = this.run * 1_000 + 1
    const from = this.first + this.log.length
    for (const verdict of verdicts) {
      this.log.push(verdict)
      if (verdict.expiresAt <= verdict.at) this.inForce.delete(verdict.key)
      else this.inForce.set(verdict.key, verdict)
    }
    return { from, verdicts }
  }

  trim(kept: number): void {
    this.first += this.log.length - kept
    this.log = this.log.slice(-kept)
  }

  empty(): void {
    Object.assign(this, { born: 0, first: 0, log: [], inForce: new Map(), run: this.run + 1 })
  }

  async readHead(): Promise<AbuseHead> {
    if (this.isAway) throw new Error('redis is away')
    const bornAt = this.born === 0 ? '' : `${this.born}`
    return { logId: `${this.run}:${bornAt}`, bornAt, head: this.first + this.log.length }
  }

  async since(position: number, max: number) {
    this.reads.push('since')
    if (position < this.first || position > this.first + this.log.length) return undefined
    return { from: position, verdicts: this.log.slice(position - this.first, position - this.first + max) }
  }

  async *active() {
    this.reads.push('active')
    yield [...this.inForce.values()]
  }
}

function verdict(uid: number, change: Partial<AbuseVerdict> = {}): AbuseVerdict {
  return {
    ...{ id: '0000000000000001', kind: 'uid', key: `${uid}`, tier: 5, reason: 'rule burst', score: 1 },
    ...{ at: NOW, expiresAt: NOW + 600_000, isShadow: false, by: 'antiblack' },
    ...change,
  }
}
const lift = (uid: number) => verdict(uid, { expiresAt: NOW })

function feedOf(board = new Board()) {
  const clock = new FakeClock(NOW)
  const known = new KnownVerdicts({ verdictsMax: 1_000 })
  const feed = new AbuseFeed({ board, known, clock, logger: nullLogger, metrics: nullMetrics })
  const tiers = (...uids: number[]) => uids.map((uid) => known.tierOf(uid, '', '', 0, NOW))
  return { board, clock, known, feed, tiers }
}

test('a limiter that has just started knows everything that is in force', async () => {
  const { board, feed, tiers } = feedOf()
  board.say(verdict(1), verdict(2), lift(1))

  await feed.round()

  expect([feed.isLoaded, feed.position, tiers(1, 2)]).toEqual([true, 3, [0, 5]])
})

test('a frame counts at once, from whichever router it comes first', async () => {
  const { board, feed, tiers } = feedOf()
  await feed.round()
  const frame = board.say(verdict(1))

  await feed.round() // the board was born by it
  const second = board.say(verdict(2), lift(1))
  feed.onFrame(frame)
  feed.onFrame(second)
  feed.onFrame(second)

  expect([feed.position, tiers(1, 2)]).toEqual([3, [0, 5]])
})

test('a frame that was lost is made up for with the next round', async () => {
  const { board, feed, tiers } = feedOf()
  board.say(verdict(9))
  await feed.round()
  board.say(verdict(1))
  feed.onFrame(board.say(verdict(2)))
  expect(tiers(1, 2)).toEqual([0, 5])

  await feed.round()

  expect([feed.position, tiers(1, 2, 9)]).toEqual([3, [5, 5, 5]])
})

test('frames that overtake each other end as the board has them', async () => {
  const { board, feed, tiers } = feedOf()
  board.say(verdict(9))
  await feed.round()
  const earlier = board.say(verdict(1))
  const later = board.say(lift(1))
  feed.onFrame(later)
  feed.onFrame(earlier)

  await feed.round()

  expect([feed.position, tiers(1)]).toEqual([3, [0]])
})

test('who is too far behind reads what is in force, and drops what is not', async () => {
  const { board, feed, tiers } = feedOf()
  board.say(verdict(1), verdict(2))
  await feed.round()
  board.say(lift(1), verdict(3), verdict(4))
  board.trim(1)

  await feed.round()

  expect([feed.position, tiers(1, 2, 3, 4)]).toEqual([5, [0, 5, 5, 5]])
})

test('while Redis is away the last verdicts stay, and frames count', async () => {
  const { board, feed, tiers } = feedOf()
  board.say(verdict(1))
  await feed.round()
  board.isAway = true

  await expect(feed.round()).rejects.toThrow('away')
  feed.onFrame(board.say(verdict(2)))

  expect(tiers(1, 2)).toEqual([5, 5])
})

test('an emptied board takes nothing away, and what it is told again counts', async () => {
  const { board, feed, tiers } = feedOf()
  board.say(verdict(1), verdict(2))
  await feed.round()
  board.empty()
  await feed.round()
  expect([feed.position, tiers(1, 2)]).toEqual([0, [5, 5]])

  board.say(verdict(1), verdict(3), lift(2))
  await feed.round()
  board.say(lift(1))
  await feed.round()

  expect([feed.position, tiers(1, 3)]).toEqual([4, [0, 5]])
})

test('a board that was emptied and filled beyond the old position is noticed', async () => {
  const { board, feed, tiers } = feedOf()
  board.say(verdict(1))
  await feed.round()
  board.empty()
  board.say(verdict(2), verdict(3), verdict(4))

  await feed.round()

  expect([feed.position, tiers(1, 2, 3, 4)]).toEqual([3, [5, 5, 5, 5]])
})

test('a restarted Redis that forgot its last second is read again, and what it forgot is void', async () => {
  const { board, feed, tiers } = feedOf()
  board.say(verdict(1))
  await feed.round()
  feed.onFrame(board.say(verdict(2)))
  Object.assign(board, { run: 2, log: board.log.slice(0, 1), inForce: new Map([['1', verdict(1)]]) })

  await feed.round()
  expect([feed.position, tiers(1, 2)]).toEqual([1, [5, 0]])
  board.say(verdict(3))
  await feed.round()

  expect(tiers(1, 3)).toEqual([5, 5])
})

test('a quiet board is asked for nothing but its head', async () => {
  const { board, feed } = feedOf()
  board.say(verdict(1))
  await feed.round()
  board.reads = []

  await feed.round()
  await feed.round()

  expect(board.reads).toEqual([])
})

test('however frames are lost, doubled and reordered, a round ends as the board has it', async () => {
  const step = fc.record({
    uid: fc.integer({ min: 1, max: 4 }),
    isLift: fc.boolean(),
    fate: fc.constantFrom('arrives', 'lost', 'twice', 'late'),
    isRound: fc.boolean(),
    trim: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { board, feed, tiers } = feedOf()
      const late: { from: number; verdicts: AbuseVerdict[] }[] = []
      for (const { uid, isLift, fate, isRound, trim } of steps) {
        const frame = board.say(isLift ? lift(uid) : verdict(uid))
        if (fate === 'late') late.push(frame)
        else if (fate !== 'lost') feed.onFrame(frame)
        if (fate === 'twice') feed.onFrame(frame)
        if (isRound) {
          for (const one of late.splice(0).reverse()) feed.onFrame(one)
          await feed.round()
        }
        if (trim) board.trim(1)
      }
      for (const one of late) feed.onFrame(one)
      await feed.round()

      expect(tiers(1, 2, 3, 4)).toEqual([1, 2, 3, 4].map((uid) => (board.inForce.has(`${uid}`) ? 5 : 0)))
    }),
    { seed: 7 },
  )
})
