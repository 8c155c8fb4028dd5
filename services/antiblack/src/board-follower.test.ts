import { type AbuseVerdict, subjectOf } from '@bigtap/domain'
import { nullLogger } from '@bigtap/kernel'
import { FakeClock } from '@bigtap/testkit'
import { beforeEach, expect, test } from 'vitest'
import { BoardFollower } from './board-follower.ts'
import { StandingVerdicts } from './standing-verdicts.ts'
import { liftOf, ScriptedEngine, verdictOf } from './test-support/verdicts.ts'

/** The board as one server keeps it. */
class Board {
  log: AbuseVerdict[] = []
  logId = 'run-1:born-1'
  bornAt = 'born-1'

  async readHead() {
    return { logId: this.logId, bornAt: this.bornAt, head: this.log.length }
  }

  async since(position: number, max: number) {
    return { from: position, verdicts: this.log.slice(position, position + max) }
  }

  async *active() {
    const bySubject = new Map(this.log.map((verdict) => [subjectOf(verdict), verdict]))
    yield [...bySubject.values()].filter(({ at, expiresAt }) => expiresAt > at)
  }
}

let clock: FakeClock
let board: Board
let engine: ScriptedEngine
let standing: StandingVerdicts
let again: AbuseVerdict[]
let follower: BoardFollower

beforeEach(() => {
  clock = new FakeClock(1_800_000_000_000)
  board = new Board()
  engine = new ScriptedEngine()
  standing = new StandingVerdicts({ standingMax: 100, mercyMs: 60_000 })
  again = []
  const sayAgain = (verdict: AbuseVerdict) => void again.push(verdict)
  follower = new BoardFollower({ board, standing, engine, clock, logger: nullLogger, sayAgain })
})

const say = (...verdicts: AbuseVerdict[]) => void board.log.push(...verdicts)
const now = () => clock.now()

test('a server that restarts with all it had changes nothing', async () => {
  say(verdictOf({ at: now() }))
  await follower.round()

  board.logId = 'run-2:born-1'
  await follower.round()

  expect(again).toEqual([])
  expect(standing.get('uid:7', now())).toBeDefined()
})

test('the last writes that a restarted server has lost are said again, and older ones count as lifted', async () => {
  say(verdictOf({ key: '1', at: now() - 30_000 }), verdictOf({ key: '2', at: now() }))
  await follower.round()

  board.log = []
  board.logId = 'run-2:born-1'
  await follower.round()

  expect(again.map(({ key }) => key)).toEqual(['2'])
  expect(standing.get('uid:1', now())).toBeUndefined()
  say(liftOf({ key: '2', at: now() }))
  await follower.round()
  expect(standing.get('uid:2', now())).toBeUndefined()
})

test('a board that was made anew gets back everything', async () => {
  say(verdictOf({ key: '1', at: now() - 30_000 }), verdictOf({ key: '2', at: now(), by: 'ada' }))
  await follower.round()

  Object.assign(board, { log: [], logId: 'run-1:', bornAt: '' })
  await follower.round()

  expect(again.map(({ key }) => key)).toEqual(['1', '2'])
})

test('the first verdict of all makes a log, and is heard like any other', async () => {
  Object.assign(board, { logId: 'run-1:', bornAt: '' })
  await follower.round()

  Object.assign(board, { logId: 'run-1:born-1', bornAt: 'born-1' })
  say(verdictOf({ at: now() }))
  await follower.round()

  expect(follower.reloads).toBe(1)
  expect(engine.inForce.has('uid:7')).toBe(true)
})

test('whom an operator has let off shortly before our start is left alone', async () => {
  say(verdictOf({ at: now() }), liftOf({ at: now() }))

  await follower.round()

  expect(standing.refusal(verdictOf({ at: now() }), now())).toBe('mercy')
})
