/** The request log and the verdicts of a limiter on a real Redis: out, in, and through what can happen to it. */

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AbuseVerdict } from '@bigtap/domain'
import { createRedisLog } from '@bigtap/eventlog'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import { ACCESS_CALL, ACCESS_OUTCOME, AccessColumns, decodeAccessBatch } from '@bigtap/protocol'
import { AbuseBoard, connectStore, type Store } from '@bigtap/store'
import { type Engine, startRedis, waitFor } from '@bigtap/testkit'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Abuse, createAbuse } from './abuse-parts.ts'
import { Requester } from './core/requester.ts'

const clock = { now: () => Date.now(), monotonic: () => performance.now() }
const context = { logger: nullLogger, metrics: nullMetrics, clock }
const dir = mkdtempSync(join(tmpdir(), 'bigtap-abuse-'))

let redis: Engine
let store: Store
let board: AbuseBoard
let said = 0

beforeAll(async () => {
  redis = await startRedis({ dir, appendfsync: 'always' })
  store = connectStore({ url: redis.url, commandMsMax: 1_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
})
beforeEach(async () => {
  await store.redis.flushall()
  board = new AbuseBoard(store)
})
afterAll(async () => {
  await store.close()
  await redis.stop()
})

function verdict(uid: number, change: Partial<AbuseVerdict> = {}): AbuseVerdict {
  const at = Date.now()
  const id = (++said).toString(16).padStart(16, '0')
  const rest = { tier: 5, reason: 'rule burst', score: 1, isShadow: false, by: 'antiblack' } as const
  return { id, kind: 'uid', key: `${uid}`, at, expiresAt: at + 600_000, ...rest, ...change }
}
const lift = (uid: number) => {
  const one = verdict(uid)
  return { ...one, expiresAt: one.at }
}

/** A limiter's part of it, running. */
async function withLimiter(work: (abuse: Abuse) => Promise<void>): Promise<void> {
  const own = { nodeId: 'limiter-1', accessLog: true, verdictsMax: 1_000, eventLog: 'redis', kafkaBrokers: [] }
  const abuse = createAbuse({ ...own, redisUrl: redis.url }, { ...context, store })
  for (const part of abuse.parts) await part.start?.()
  try {
    await work(abuse)
  } finally {
    for (const part of abuse.parts.toReversed()) await part.stop?.()
  }
}

const tiers = ({ verdicts }: Abuse, ...uids: number[]) =>
  uids.map((uid) => verdicts.tierOf(uid, '', '', 0, Date.now())).join()
const until = (abuse: Abuse, wanted: string, ...uids: number[]) =>
  waitFor(`tiers ${wanted} of ${uids}`, () => tiers(abuse, ...uids) === wanted, 10_000)

test('what became of requests is in the topic, in order for each buyer', async () => {
  const log = createRedisLog({ url: redis.url, leaseMs: 800 })
  const rows: number[][] = []
  const batch = new AccessColumns(8_192)
  const consumer = log.consumer({ topic: 'access', group: 'test' })
  await consumer.run(async ({ records }) => {
    for (const { value } of records) {
      decodeAccessBatch(value, batch)
      for (let row = 0; row < batch.rows; row++) rows.push([batch.uid[row] ?? 0, batch.skuId[row] ?? 0])
    }
  })

  await withLimiter(async ({ log: access }) => {
    const who = new Requester().begin('203.0.113.7', '')
    for (let at = 0; at < 3_000; at++) {
      Object.assign(who, { uid: 1 + (at % 100), skuId: at })
      access.note(who, ACCESS_CALL.buy, ACCESS_OUTCOME.shed, 0, 0)
    }
  })
  await waitFor('all rows', () => rows.length >= 3_000, 10_000)
  await consumer.stop()
  await log.close()

  for (let uid = 1; uid <= 100; uid++) {
    const own = rows.filter((row) => row[0] === uid).map((row) => row[1])
    expect(own).toEqual(Array.from({ length: 30 }, (_, at) => at * 100 + uid - 1))
  }
})

test('a limiter knows what stands when it starts, and what is said and lifted later', async () => {
  await board.say([verdict(1), verdict(2)])
  await withLimiter(async (abuse) => {
    await until(abuse, '5,5,0', 1, 2, 3)

    await board.say([lift(1), verdict(3, { tier: 3 })])

    await until(abuse, '0,5,3', 1, 2, 3)
  })
})

test('a frame counts at once, before the board is looked at', async () => {
  await board.say([verdict(1)])
  await withLimiter(async (abuse) => {
    await until(abuse, '5', 1)
    const verdicts = [verdict(2)]
    const from = await board.say(verdicts)

    abuse.onFrame({ from, verdicts })

    expect(tiers(abuse, 1, 2)).toBe('5,5')
    expect(abuse.view().position).toBe(2)
  })
})

test('Redis killed and restarted: the last verdicts stay meanwhile, and the next ones are heard', async () => {
  await board.say([verdict(1)])
  await withLimiter(async (abuse) => {
    await until(abuse, '5', 1)
    const { port } = redis
    await redis.kill()
    expect(tiers(abuse, 1)).toBe('5')

    redis = await startRedis({ dir, port, appendfsync: 'always' })
    await store.waitUntilReady(10_000)
    await waitFor('the board to take it', () =>
      board.say([lift(1), verdict(2)]).then(
        () => true,
        () => false,
      ),
    )

    await until(abuse, '0,5', 1, 2)
  })
})

test('Redis emptied: nothing is taken away, and what is said again counts', async () => {
  await board.say([verdict(1), verdict(2)])
  await withLimiter(async (abuse) => {
    await until(abuse, '5,5', 1, 2)
    await store.redis.flushall()
    await board.say([verdict(3), verdict(4), verdict(5)])

    await until(abuse, '5,5,5', 3, 4, 5)
    expect(tiers(abuse, 1, 2)).toBe('5,5')
    await board.say([lift(1)])
    await until(abuse, '0,5', 1, 2)
  })
})
