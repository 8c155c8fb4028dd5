import { nullLogger } from '@bigtap/kernel'
import { FakeClock } from '@bigtap/testkit'
import { beforeEach, expect, test } from 'vitest'
import { AccessIntake } from './access-intake.ts'
import { recordOf, ScriptedEngine } from './test-support/verdicts.ts'

let clock: FakeClock
let engine: ScriptedEngine
let intake: AccessIntake

beforeEach(() => {
  clock = new FakeClock()
  engine = new ScriptedEngine()
  intake = new AccessIntake({ staleMs: 3_000, rowsMax: 64 }, { engine, clock, logger: nullLogger })
})

/** Records of one partition, of so long ago, each of one buyer. */
const batchOf = (agesMs: readonly number[], partition = 0) => ({
  ...{ topic: 'access', partition },
  records: agesMs.map((ageMs, index) => ({
    ...{ key: 'a1', position: `${index}` },
    value: recordOf({ at: clock.now() - ageMs, uids: [index + 1] }),
  })),
})

test('requests are observed in order, and the oldest age is told once', async () => {
  await intake.handle(batchOf([400, 100]))

  expect(engine.seen).toEqual([1, 2])
  expect([intake.events, intake.records]).toEqual([2, 2])
  expect([intake.takeLagMs(), intake.takeLagMs()]).toEqual([400, 0])
})

test('a record that cannot be read is counted and passed over', async () => {
  const { records, ...batch } = batchOf([100, 100])
  const garbage = { key: 'a1', position: 'x', value: Buffer.from('no batch') }

  await intake.handle({ ...batch, records: [garbage, ...records] })

  expect(intake.skipped.undecodable).toBe(1)
  expect(engine.seen).toEqual([1, 2])
})

test('what waited while a process was away is caught up with', async () => {
  await intake.handle(batchOf([9_000, 8_000, 3_100, 2_000]))

  expect(engine.seen).toEqual([1, 2, 3, 4])
  expect(intake.behind).toBe(1)
  await intake.handle(batchOf([1_400]))
  expect(intake.behind).toBe(0)
})

test('who does not get out of its backlog goes on with the requests of now', async () => {
  await intake.handle(batchOf([9_000]))
  clock.advance(2_001)

  await intake.handle(batchOf([9_000, 3_100, 2_900, 1_600, 1_400, 2_000]))

  expect(engine.seen).toEqual([1, 5, 6])
  expect(intake.skipped.stale).toBe(4)
})

test('requests of more than a minute ago lie in no window', async () => {
  await intake.handle(batchOf([60_001, 100]))

  expect(engine.seen).toEqual([2])
})

test('a partition that is late does not make another one skip', async () => {
  await intake.handle(batchOf([9_000], 0))
  clock.advance(2_001)
  await intake.handle(batchOf([2_900], 1))

  expect(engine.seen).toEqual([1, 1])
})

test('a record of tomorrow does not move the windows there', async () => {
  await intake.handle(batchOf([-86_400_000, 0]))

  expect(intake.skipped.ahead).toBe(1)
  expect(engine.seen).toEqual([2])
})

test('a fault of the engine does not stop the log', async () => {
  engine.observe = () => {
    throw new Error('a bug')
  }

  await intake.handle(batchOf([0, 0]))

  expect(intake.skipped.failed).toBe(2)
})

test('others get their turn within a long batch', async () => {
  let turns = 0
  const slow = { observe: () => clock.advance(15) }
  const turn = async () => void turns++
  intake = new AccessIntake({ staleMs: 3_000, rowsMax: 64 }, { engine: slow, clock, logger: nullLogger, turn })

  await intake.handle(batchOf([0, 0, 0, 0]))

  expect(turns).toBe(2)
})
