import { type AbuseVerdict, subjectOf } from '@bigtap/domain'
import { hasCode, nullLogger } from '@bigtap/kernel'
import { type Engine, startRedis } from '@bigtap/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { AbuseBoard } from './abuse-board.ts'
import { connectStore, type Store } from './connection.ts'

let redis: Engine
let store: Store
let board: AbuseBoard
let said = 0

beforeAll(async () => {
  redis = await startRedis()
  store = connectStore({ url: redis.url, commandMsMax: 5_000 }, { logger: nullLogger })
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

function verdict(change: Partial<AbuseVerdict> = {}): AbuseVerdict {
  const at = Date.now()
  const id = (++said).toString(16).padStart(16, '0')
  const rest = { tier: 5, reason: 'rule burst', score: 1, isShadow: false, by: 'antiblack' } as const
  return { id, kind: 'uid', key: '7', at, expiresAt: at + 60_000, ...rest, ...change }
}

const lift = (change: Partial<AbuseVerdict> = {}) => {
  const one = verdict(change)
  return { ...one, expiresAt: one.at }
}

async function inForce(): Promise<AbuseVerdict[]> {
  const all: AbuseVerdict[] = []
  for await (const page of board.active()) all.push(...page)
  return all.sort((a, b) => (a.id < b.id ? -1 : 1))
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'fine',
    (error) => (hasCode(error, 'ABUSE_BOARD_FULL') ? 'ABUSE_BOARD_FULL' : String(error)),
  )
}

describe('saying', () => {
  test('a verdict stands, is found by its subject and has the next position', async () => {
    const [one, two] = [verdict(), verdict({ kind: 'ip', key: '2001:db8::1', tier: 4, score: 0.5 })]

    expect([await board.head(), await board.say([one]), await board.say([two]), await board.head()]).toEqual([
      0, 0, 1, 2,
    ])
    expect(await board.get(subjectOf(two))).toEqual(two)
    expect(await board.get('uid:8')).toBeUndefined()
    expect(await inForce()).toEqual([one, two])
    expect(await board.since(0, 10)).toEqual({ from: 0, verdicts: [one, two] })
  })

  test('a newer verdict replaces the one before, a lift ends it, and both stay in the log', async () => {
    const [first, second, end] = [verdict(), verdict({ tier: 3 }), lift()]
    await board.say([first, second])
    expect(await board.get('uid:7')).toEqual(second)

    await board.say([end])
    expect(await board.get('uid:7')).toBeUndefined()
    expect(await inForce()).toEqual([])
    expect(await board.since(0, 10)).toEqual({ from: 0, verdicts: [first, second, end] })
    expect(await store.redis.zcard('bt:{abuse}:expiry')).toBe(0)
  })

  test('what has run out is not in force, and is swept a few at a time', async () => {
    const old = Array.from({ length: 600 }, (_, key) =>
      verdict({ key: `${key + 1}`, at: Date.now() - 5_000, expiresAt: Date.now() - 2_000 }),
    )
    await board.say(old)
    expect([await inForce(), await board.get('uid:1')]).toEqual([[], undefined])

    await board.say([verdict({ key: '9000' })])
    expect(await store.redis.hlen('bt:{abuse}:active')).toBe(600 - 512 + 1)
    await board.say([verdict({ key: '9000' })])
    expect(await store.redis.hlen('bt:{abuse}:active')).toBe(1)
  })

  test('a full board refuses one more with a code, and takes replacements and lifts', async () => {
    board = new AbuseBoard(store, { verdictsMax: 2 })
    await board.say([verdict({ key: '1' }), verdict({ key: '2' })])

    expect(await codeOf(board.say([verdict({ key: '1' }), verdict({ key: '3' })]))).toBe('ABUSE_BOARD_FULL')
    expect(await board.head()).toBe(2)
    expect(await codeOf(board.say([verdict({ key: '2', tier: 4 })]))).toBe('fine')
    expect(await codeOf(board.say([lift({ key: '1' })]))).toBe('fine')
    expect(await codeOf(board.say([verdict({ key: '3' })]))).toBe('fine')
  })

  test('many who say at once share the positions out without a gap', async () => {
    const froms = await Promise.all(
      Array.from({ length: 50 }, (_, key) =>
        board.say([verdict({ key: `${key + 1}` }), verdict({ key: `${key + 1}` })]),
      ),
    )

    expect(froms.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, index) => index * 2))
    expect((await board.since(0, 1_000))?.verdicts).toHaveLength(100)
  })
})

describe('following', () => {
  test('the log is read on from a position, in pages, and ends at the head', async () => {
    const all = Array.from({ length: 5 }, (_, key) => verdict({ key: `${key + 1}` }))
    await board.say(all)

    expect(await board.since(1, 2)).toEqual({ from: 1, verdicts: all.slice(1, 3) })
    expect(await board.since(3, 10)).toEqual({ from: 3, verdicts: all.slice(3) })
    expect(await board.since(5, 10)).toEqual({ from: 5, verdicts: [] })
  })

  test('who is further behind than the log reaches must read what is in force', async () => {
    board = new AbuseBoard(store, { logMax: 3 })
    for (let key = 1; key <= 5; key++) await board.say([verdict({ key: `${key}` })])

    expect(await board.since(1, 10)).toBeUndefined()
    expect((await board.since(2, 10))?.verdicts).toHaveLength(3)
    expect(await inForce()).toHaveLength(5)
  })

  test('an emptied board is another log, and positions before its loss are refused', async () => {
    await board.say([verdict(), verdict()])
    const before = await board.readHead()
    await store.redis.flushall()

    expect(await board.since(2, 10)).toBeUndefined()
    expect((await board.readHead()).head).toBe(0)
    await board.say([verdict(), verdict(), verdict()])
    const after = await board.readHead()
    expect(after.head).toBe(3)
    expect(after.bornAt).not.toBe(before.bornAt)
    expect(after.logId).not.toBe(before.logId)
  })

  test('a foreign value in the log or among those in force is passed over', async () => {
    await board.say([verdict()])
    await store.redis.hset('bt:{abuse}:active', 'uid:9', 'no verdict')
    await store.redis.xadd('bt:{abuse}:log', '2-0', 'v', 'no verdict')
    await store.redis.hset('bt:{abuse}:head', 'next', 2)

    expect(await inForce()).toHaveLength(1)
    expect(await board.get('uid:9')).toBeUndefined()
    expect(await board.since(0, 10)).toBeUndefined()
  })

  test('thousands in force come in pages, each once', async () => {
    for (let at = 0; at < 3_000; at += 500)
      await board.say(Array.from({ length: 500 }, (_, key) => verdict({ key: `${at + key + 1}` })))

    const page = await board.page('0', 100)
    expect(page.verdicts.length).toBeLessThan(1_000)
    expect(page.cursor).not.toBe('0')
    expect(new Set((await inForce()).map(subjectOf)).size).toBe(3_000)
  })
})

test('a board whose server is away says so', async () => {
  const away = connectStore({ url: 'redis://127.0.0.1:1', commandMsMax: 100 }, { logger: nullLogger })
  const lost = new AbuseBoard(away)

  await expect(lost.readHead()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await expect(lost.say([verdict()])).rejects.toMatchObject({ code: 'STORE_FAILED' })
  await expect(lost.since(0, 1)).rejects.toMatchObject({ code: 'STORE_FAILED' })
  await away.close()
})
