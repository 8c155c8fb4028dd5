/** The release log from Middle's script to the topic, on a real Redis. */

import { createRedisLog, type EventLog, type LogRecord } from '@bigtap/eventlog'
import { nullLogger, slotOf } from '@bigtap/kernel'
import { decodeGrantEvent, type GrantEvent } from '@bigtap/protocol'
import { connectStore, type Grant, GrantLog, GrantOutbox, Ledger, type Store } from '@bigtap/store'
import { type Engine, startRedis, waitFor } from '@bigtap/testkit'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { GrantRelay } from './grant-relay.ts'

const ACTIVITY = 7
const PLACES = 50

let redis: Engine
let store: Store
let log: EventLog
let grants: GrantLog
let outbox: GrantOutbox
let fence: number

beforeAll(async () => {
  redis = await startRedis()
  store = connectStore({ url: redis.url, commandMsMax: 5_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
  log = createRedisLog({ url: redis.url, leaseMs: 800 })
})

beforeEach(async () => {
  await store.redis.flushall()
  const ledger = new Ledger(store)
  await ledger.open(ACTIVITY, 'unlimited', [
    { skuId: 1, stock: PLACES, overbook: 1, limitPerBuyer: 9, priceCents: 100, holdSeconds: 900 },
  ])
  grants = new GrantLog(store, ledger.guards)
  outbox = new GrantOutbox(store)
  fence = await grants.claim(ACTIVITY, 'm1')
  const slots = Array.from({ length: 200 }, (_, uid) => slotOf(uid + 1))
  await grants.claimSlots({ activityId: ACTIVITY, nodeId: 'm1', fence }, [...new Set(slots)], 1)
  await lease(PLACES)
})

afterAll(async () => {
  await log.close()
  await store.close()
  await redis.stop()
})

const who = () => ({ activityId: ACTIVITY, nodeId: 'm1', fence })
const lease = (want: number) => grants.lease(who(), [{ skuId: 1, want, giveBack: 0, pacePerSecond: null }])

function grantOf(uid: number): Grant {
  const tokenId = uid.toString(16).padStart(32, '0')
  return { tokenId, uid, slot: slotOf(uid), skuId: 1, quantity: 1, expiresAt: Date.now() + 60_000 }
}

async function eventsOf(count: number): Promise<GrantEvent[]> {
  const seen: GrantEvent[] = []
  const consumer = log.consumer({ topic: 'grants', group: 'g' })
  await consumer.run(async ({ records }) => void seen.push(...records.map(({ value }) => decodeGrantEvent(value))))
  await waitFor('the events', () => seen.length >= count)
  await consumer.stop()
  return seen.sort((a, b) => a.uid - b.uid)
}

test('every grant that was written reaches the topic once, and nothing that was refused', async () => {
  const relay = new GrantRelay({ outbox, producer: log.producer() })
  const first = Array.from({ length: 30 }, (_, at) => grantOf(at + 1))
  const second = Array.from({ length: 30 }, (_, at) => grantOf(at + 21))
  await grants.grant(who(), first)
  const outcomes = await grants.grant(who(), second) // ten are repeated, twenty find a place

  while (await relay.round(ACTIVITY));
  const events = await eventsOf(50)

  expect(outcomes.every((outcome) => outcome === 'written')).toBe(true)
  expect(await grants.grant(who(), [grantOf(90)])).toEqual(['placeless'])
  expect(await relay.round(ACTIVITY)).toBe(false)
  expect(events.map(({ uid }) => uid)).toEqual(Array.from({ length: 50 }, (_, at) => at + 1))
  const { slot, ...same } = first[0] ?? grantOf(1)
  expect(slot).toBe(slotOf(1))
  expect(events[0]).toEqual({ ...same, activityId: ACTIVITY, nodeId: 'm1', at: events[0]?.at })
  expect(Math.abs((events[0]?.at ?? 0) - Date.now())).toBeLessThan(60_000)
  expect([relay.carried, await outbox.size(ACTIVITY)]).toEqual([50, 0])
})

test('while the log is away nothing is dropped; then it goes on where it stood', async () => {
  let isAway = true
  const send = async (topic: string, records: readonly LogRecord[]) => {
    if (isAway) throw new Error('the log is away')
    await log.producer().send(topic, records)
  }
  const relay = new GrantRelay({ outbox, producer: { send } })
  await grants.grant(who(), [grantOf(1), grantOf(2)])

  await expect(relay.round(ACTIVITY)).rejects.toThrow('away')
  await grants.grant(who(), [grantOf(3)])
  expect(await outbox.size(ACTIVITY)).toBe(2)
  isAway = false
  await relay.round(ACTIVITY)

  expect((await eventsOf(3)).map(({ uid }) => uid)).toEqual([1, 2, 3])
  expect(await outbox.size(ACTIVITY)).toBe(0)
})

test('what was granted while entries are carried stays for the next round', async () => {
  const send = async () => {
    await grants.grant(who(), [grantOf(9)])
  }
  const relay = new GrantRelay({ outbox, producer: { send } })
  await grants.grant(who(), [grantOf(1)])

  await relay.round(ACTIVITY)

  expect((await outbox.read(ACTIVITY, 10)).flatMap((entry) => entry.grants.map(({ uid }) => uid))).toEqual([9])
})

test('a grant that Middle puts back after a loss is told again', async () => {
  const [kept, lost] = [grantOf(1), grantOf(2)]
  await grants.grant(who(), [kept])
  const before = await outbox.size(ACTIVITY)

  await grants.adopt(who(), [kept, lost])

  const entries = await outbox.read(ACTIVITY, 10)
  expect([before, entries.length]).toEqual([1, 2])
  expect(entries[1]?.grants.map(({ tokenId }) => tokenId)).toEqual([lost.tokenId])
})
