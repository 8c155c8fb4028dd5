/** Antiblack on a real Redis: the log, the board, two processes, restarts. The engine is one that says what it is told. */

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Mirror } from '@bigtap/catalog'
import { ABUSE_RULES_KEY, type AbuseVerdict, DEFAULT_ABUSE_RULES, subjectOf } from '@bigtap/domain'
import { createRedisLog, type EventLog } from '@bigtap/eventlog'
import { nullLogger, nullMetrics, slotOf } from '@bigtap/kernel'
import { type AbuseVerdictBatch, decodeAbuseVerdicts } from '@bigtap/protocol'
import { createWorker } from '@bigtap/runtime'
import { AbuseBoard, CatalogStore, connectStore, type Store } from '@bigtap/store'
import { type Engine, freePort, SeededRandom, startRedis, waitFor } from '@bigtap/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Antiblack, createAntiblack } from './antiblack.ts'
import { liftOf, recordOf, ScriptedEngine, verdictOf } from './test-support/verdicts.ts'

const clock = { now: () => Date.now(), monotonic: () => performance.now() }
const logger = nullLogger
const settings = {
  ...{ staleMs: 5_000, outboxMax: 1_000, standingMax: 1_000, mercyMs: 60_000 },
  ...{ recordFile: undefined, recordBytesMax: 0 },
}

interface Process {
  readonly antiblack: Antiblack
  readonly engine: ScriptedEngine
  readonly mirror: Mirror
  readonly pushed: AbuseVerdictBatch[]
  stop(): Promise<void>
}

let redis: Engine
let store: Store
let board: AbuseBoard
let log: EventLog
let running: Process[]

beforeAll(async () => {
  redis = await startRedis()
  store = connectStore({ url: redis.url, commandMsMax: 1_000 }, { logger })
  await store.waitUntilReady(5_000)
})

beforeEach(async () => {
  await store.redis.flushall()
  board = new AbuseBoard(store)
  log = createRedisLog({ url: redis.url, partitions: 4, leaseMs: 1_000 }, { logger })
  running = []
})

afterEach(async () => {
  for (const one of running) await one.stop()
  await log.close()
})

afterAll(async () => {
  await store.close()
  await redis.stop()
})

/** A process, with connections of its own. */
async function start(url = redis.url): Promise<Process> {
  const own = connectStore({ url, commandMsMax: 500 }, { logger })
  await own.waitUntilReady(5_000)
  const ownLog = createRedisLog({ url, partitions: 4, leaseMs: 1_000 }, { logger })
  const mirror = new Mirror(
    { service: 'antiblack', pollMs: 50 },
    { catalog: new CatalogStore(own), logger, clock, metrics: nullMetrics },
  )
  const [engine, pushed] = [new ScriptedEngine(), [] as AbuseVerdictBatch[]]
  const consumer = ownLog.consumer({ topic: 'access', group: 'antiblack', recordsMax: 50 })
  const antiblack = createAntiblack(settings, {
    ...{ engine, mirror, consumer, board: new AbuseBoard(own), producer: ownLog.producer(), clock, logger },
    ...{ random: new SeededRandom(1), metrics: nullMetrics, push: (batch) => void pushed.push(batch) },
    defaults: { rules: DEFAULT_ABUSE_RULES, model: undefined },
  })
  const worker = (name: string, everyMs: number, work: () => Promise<unknown> | unknown) =>
    createWorker({ name, everyMs, work, startsAtOnce: true }, logger)
  const workers = [
    worker('board', 50, () => antiblack.follow()),
    worker('judge', 20, () => antiblack.tick()),
    worker('topic', 50, () => antiblack.carry()),
  ]
  await mirror.start()
  for (const one of workers) one.start()
  await consumer.run((batch) => antiblack.intake.handle(batch))
  let isStopped = false
  const stop = async () => {
    if (isStopped) return
    isStopped = true
    await Promise.all([consumer.stop(), ...workers.map((one) => one.stop())])
    mirror.stop()
    await ownLog.close()
    await own.close()
  }
  const made = { antiblack, engine, mirror, pushed, stop }
  running.push(made)
  await waitFor('the board is read', () => antiblack.follower.isLoaded)
  return made
}

const asked = (...uids: number[]) =>
  log.producer().send(
    'access',
    uids.map((uid) => ({ key: `a${slotOf(uid) & 15}`, value: recordOf({ at: Date.now(), uids: [uid] }) })),
  )
const standing = (uid: number) => board.get(`uid:${uid}`)
const heads = () => board.head()

test('who is seen to abuse is on the board, at every router and in the topic', async () => {
  const { pushed } = await start()

  await asked(7, 107)

  const verdict = await waitFor('the verdict', () => standing(107))
  expect(verdict).toMatchObject({ kind: 'uid', key: '107', tier: 4, by: 'antiblack' })
  expect(await standing(7)).toBeUndefined()
  await waitFor('the push', () => pushed.length === 1)
  expect(pushed[0]).toEqual({ from: 0, verdicts: [verdict] })
  const told: AbuseVerdict[] = []
  const reader = log.consumer({ topic: 'verdicts', group: 'reader' })
  await reader.run(async ({ records }) => {
    for (const { value } of records) told.push(...decodeAbuseVerdicts(value).verdicts)
  })
  await waitFor('the record', () => told.length === 1)
  expect(told.map(subjectOf)).toEqual(['uid:107'])
})

test('a follower of the board learns of it by position', async () => {
  await start()
  await asked(107)
  await waitFor('the verdict', () => standing(107))

  expect((await board.since(0, 10))?.verdicts.map(subjectOf)).toEqual(['uid:107'])
})

test('a restart neither forgets a verdict in force nor says it again', async () => {
  const first = await start()
  await asked(107)
  await waitFor('the verdict', () => standing(107))
  await first.stop()

  const second = await start()
  expect(second.engine.inForce.has('uid:107')).toBe(true)
  await asked(107, 108)
  await waitFor('the other verdict', () => standing(108))

  expect(await heads()).toBe(2)
  expect(second.antiblack.standing.get('uid:107', Date.now())).toBeDefined()
})

test('a buyer whom an operator has let off is not condemned again for the same evidence', async () => {
  const { antiblack, engine } = await start()
  await asked(107)
  await waitFor('the verdict', () => standing(107))

  await board.say([liftOf({ key: '107', at: Date.now() })])
  await waitFor('the engine forgets', () => engine.forgotten.includes('uid:107'))
  await asked(107, 108)
  await waitFor('the other verdict', () => standing(108))

  expect(await standing(107)).toBeUndefined()
  expect(antiblack.standing.refusal(verdictOf({ key: '107' }), Date.now())).toBe('mercy')
})

test('whom an operator has let off is left alone after a restart too', async () => {
  const first = await start()
  await asked(107)
  await waitFor('the verdict', () => standing(107))
  await board.say([liftOf({ key: '107', at: Date.now() })])
  await first.stop()

  await start()
  await asked(107, 108)
  await waitFor('the other verdict', () => standing(108))

  expect(await standing(107)).toBeUndefined()
})

test('the word of an operator stands after a restart, and no machine replaces it', async () => {
  await start()
  await board.say([verdictOf({ key: '107', at: Date.now(), by: 'ada', tier: 0 })])
  const second = await start()
  await asked(107, 108)
  await waitFor('the other verdict', () => standing(108))

  expect(await standing(107)).toMatchObject({ tier: 0, by: 'ada' })
  expect(second.antiblack.standing.get('uid:107', Date.now())?.by).toBe('ada')
})

test('a record that nobody can read is skipped, and those behind it count', async () => {
  const { antiblack } = await start()
  await log.producer().send('access', [{ key: `a${slotOf(107) & 15}`, value: Buffer.from('garbage') }])
  await asked(107)

  await waitFor('the verdict', () => standing(107))
  expect(antiblack.intake.skipped.undecodable).toBe(1)
})

test('records that are minutes old are passed over', async () => {
  const old = { key: `a${slotOf(107) & 15}`, value: recordOf({ at: Date.now() - 120_000, uids: [107] }) }
  await log.producer().send('access', [old, old])
  const { antiblack } = await start()
  await asked(108)
  await waitFor('the new one', () => standing(108))
  await waitFor('the old ones', () => antiblack.intake.skipped.stale === 2)

  expect(await standing(107)).toBeUndefined()
})

test('other rules are in force at once, and bad ones change nothing', async () => {
  const { engine, mirror } = await start()
  const catalog = new CatalogStore(store)
  const publish = (body: unknown) => catalog.publish([{ key: ABUSE_RULES_KEY, body }], { epoch: 1 })
  expect(engine.rules).toBe(DEFAULT_ABUSE_RULES.version)

  await publish({ ...DEFAULT_ABUSE_RULES, version: 12 })
  await waitFor('the new rules', () => engine.rules === 12)
  await publish({ ...DEFAULT_ABUSE_RULES, version: 13, isShadow: 'perhaps' })
  await waitFor('the refusal', () => mirror.refused.length === 1)

  expect(engine.rules).toBe(12)
  await publish(null)
  await waitFor('the built-in ones', () => engine.rules === DEFAULT_ABUSE_RULES.version)
})

test('the switch to shadow mode counts for what is in force too, but for what operators have said', async () => {
  await start()
  await asked(107)
  await waitFor('the verdict', () => standing(107))
  await board.say([verdictOf({ key: '108', at: Date.now(), by: 'ada', tier: 5 })])

  const body = { ...DEFAULT_ABUSE_RULES, version: 12, isShadow: true }
  await new CatalogStore(store).publish([{ key: ABUSE_RULES_KEY, body }], { epoch: 1 })

  await waitFor('it is only shown', async () => (await standing(107))?.isShadow)
  expect(await standing(108)).toMatchObject({ isShadow: false })
})

test('two processes share the work, and one takes over from the other', async () => {
  const [first, second] = [await start(), await start()]
  const uids = Array.from({ length: 64 }, (_, index) => 1_000 + index)
  const seen = () => [first, second].map(({ engine }) => engine.seen.length)
  await waitFor('both have partitions', async () => {
    await asked(...uids)
    await waitFor('all are seen', () => seen().reduce((sum, count) => sum + count, 0) >= uids.length)
    return seen().every((count) => count > 0)
  })
  await waitFor('all verdicts', async () => (await board.get('uid:1063')) && (await heads()) >= uids.length)

  await first.stop()
  await asked(2_000, 2_001, 2_002, 2_003)

  await waitFor('the other goes on', async () => (await standing(2_000)) && (await standing(2_003)))
})

test('a milder verdict of another process does not stay in place of a worse one', async () => {
  await start()
  await asked(107)
  await waitFor('the verdict', () => standing(107))

  await board.say([verdictOf({ key: '107', tier: 2, at: Date.now() })])

  await waitFor('the worse one', async () => (await standing(107))?.tier === 4)
})

test('a board that was emptied gets back what is in force, operators’ verdicts too, once', async () => {
  const { antiblack } = await start()
  await start()
  await asked(107)
  await waitFor('the verdict', () => standing(107))
  await board.say([verdictOf({ key: '108', at: Date.now(), by: 'ada', tier: 5 })])
  await waitFor('it is heard', () => antiblack.standing.get('uid:108', Date.now()))

  await store.redis.flushall()

  await waitFor('both are back', async () => (await standing(107)) && (await standing(108)))
  expect(await standing(108)).toMatchObject({ by: 'ada', tier: 5 })
})

test('while Redis is away verdicts wait, and nothing is lost', async () => {
  const [dir, port] = [mkdtempSync(join(tmpdir(), 'bigtap-antiblack-')), await freePort()]
  let other = await startRedis({ dir, port, appendfsync: 'always' })
  const { antiblack, engine } = await start(other.url)
  await other.stop()
  engine.willSay(verdictOf({ key: '107', at: Date.now() }), verdictOf({ key: '108', at: Date.now() }))
  await waitFor('a call has failed', () => antiblack.speaker.faults > 0)
  expect(antiblack.outbox.size).toBe(2)

  other = await startRedis({ dir, port, appendfsync: 'always' })
  await waitFor('both are said', () => antiblack.outbox.size === 0)

  const there = connectStore({ url: other.url, commandMsMax: 1_000 }, { logger })
  await there.waitUntilReady(5_000)
  expect((await new AbuseBoard(there).get('uid:107'))?.tier).toBe(4)
  expect(await new AbuseBoard(there).head()).toBe(2)
  await there.close()
  await running.pop()?.stop()
  await other.stop()
})
