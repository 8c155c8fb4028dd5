import { nullLogger } from '@bigtap/kernel'
import { type Engine, SeededRandom, startRedis, waitFor } from '@bigtap/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connectStore, type Store } from './connection.ts'
import { RESERVATIONS_PAGE, Reservations, type ReservationsHead } from './reservations.ts'

let redis: Engine
let store: Store
let seats: Reservations

beforeAll(async () => {
  redis = await startRedis()
  store = connectStore({ url: redis.url, commandMsMax: 5_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
})

beforeEach(async () => {
  await store.redis.flushall()
  seats = new Reservations(store)
})

afterAll(async () => {
  await store.close()
  await redis.stop()
})

async function entriesOf(head: ReservationsHead, from = 0): Promise<number[]> {
  const entries: number[] = []
  for await (const page of seats.read(1, head, from)) entries.push(...page)
  return entries
}

const readAll = async (from = 0) => entriesOf(await seats.head(1), from)
const range = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index)

describe('reserving', () => {
  test('a seat is reserved once', async () => {
    const got = [await seats.reserve(1, 7), await seats.reserve(1, 7), await seats.reserve(1, 8)]

    expect(got).toEqual([true, false, true])
    expect([await seats.has(1, 7), await seats.has(1, 9), await seats.has(2, 7)]).toEqual([true, false, false])
    expect([await seats.count(1), await seats.count(2)]).toEqual([2, 0])
    expect(await readAll()).toEqual([7, 8])
  })

  test('uids up to 2^53 - 1 come back exactly', async () => {
    const uids = [1, 2 ** 31, 2 ** 32 + 1, 2 ** 53 - 2, 2 ** 53 - 1]
    await seats.importMany(1, uids)

    expect(await readAll()).toEqual(uids)
    expect(await Promise.all(uids.map((uid) => seats.has(1, uid)))).toEqual(uids.map(() => true))
    expect(await seats.has(1, 2 ** 53 - 3)).toBe(false)
  })

  test('an import counts nobody twice, within it, after a repeat, and beside others that import the same', async () => {
    const random = new SeededRandom(5)
    const uids = Float64Array.from({ length: 12_000 }, () => 1 + Math.floor(random.next() * 10_000) * 1_000_003)
    const known = new Set(uids)
    const added = await Promise.all([seats.importMany(1, uids), seats.importMany(1, uids.toReversed())])

    expect((added[0] ?? 0) + (added[1] ?? 0)).toBe(known.size)
    expect(await seats.importMany(1, uids)).toBe(0)
    expect(await seats.count(1)).toBe(known.size)
    const read = await readAll()
    expect(read).toHaveLength(known.size)
    expect(new Set(read)).toEqual(known)
  })

  test('an import whose process dies in between is repeated, and everybody has one seat', async () => {
    const dying = connectStore({ url: redis.url, commandMsMax: 5_000 }, { logger: nullLogger })
    await dying.waitUntilReady(5_000)
    const cut = new Reservations(dying).importMany(1, range(1, 60_000)).catch(() => 'cut off')
    await waitFor('the first of them', () => seats.count(1))
    await dying.close()

    expect(await cut).toBe('cut off')
    const [before, added] = [await seats.count(1), await seats.importMany(1, range(1, 60_000))]
    expect(before + added).toBe(60_000)
    expect((await readAll()).toSorted((a, b) => a - b)).toEqual(range(1, 60_000))
  })

  test('what is no uid is refused before it is written', async () => {
    for (const uid of [0, -1, 1.5, 2 ** 53, Number.NaN])
      await expect(seats.importMany(1, [uid])).rejects.toThrow(/is not from 1 to 2\^53 - 1/)
    expect(await seats.count(1)).toBe(0)
  })

  test('a full activity refuses who is new, tells who is not, and is full again only after a seat came back', async () => {
    seats = new Reservations(store, { seatsMax: 3 })

    await expect(seats.importMany(1, [1, 2, 3, 4, 5])).rejects.toMatchObject({
      code: 'RESERVATIONS_FULL',
      data: { added: 3, refused: 2 },
    })
    expect(await seats.reserve(1, 2)).toBe(false)
    await expect(seats.reserve(1, 9)).rejects.toMatchObject({ code: 'RESERVATIONS_FULL' })
    await seats.remove(1, [1])
    expect(await seats.reserve(1, 9)).toBe(true)
    expect(await seats.count(1)).toBe(3)
  })
})

describe('reading by position', () => {
  test('a reader sees each entry once, in order, wherever it goes on', async () => {
    const count = 2 * RESERVATIONS_PAGE + 100
    await seats.importMany(1, range(1, count))

    for (const from of [0, 1, RESERVATIONS_PAGE - 1, RESERVATIONS_PAGE, count - 1, count])
      expect(await readAll(from)).toEqual(range(from + 1, count - from))
    await seats.reserve(1, count + 1)
    expect(await readAll(count)).toEqual([count + 1])
  })

  test('a seat that is taken back comes as a negative entry, and may be reserved again', async () => {
    await seats.importMany(1, [5, 6])

    expect(await seats.remove(1, [6, 7])).toBe(1)
    expect([await seats.has(1, 6), await seats.count(1)]).toEqual([false, 1])
    expect(await seats.reserve(1, 6)).toBe(true)
    expect(await readAll()).toEqual([5, 6, -6, 6])
  })

  test('a clear voids everything, also for who is just reading', async () => {
    await seats.importMany(1, range(1, 6 * RESERVATIONS_PAGE))
    const head = await seats.head(1)
    const reader = seats.read(1, head, 0)
    await reader.next()
    await seats.clear(1)

    let rest = 0
    for await (const page of reader) rest += page.length
    expect(rest).toBeLessThan(6 * RESERVATIONS_PAGE)
    const after = await seats.head(1)
    expect(after).toMatchObject({ generation: head.generation + 1, positions: 0, count: 0 })
    expect(after.logId).not.toBe(head.logId)
    expect(await seats.has(1, 1)).toBe(false)
    expect(await store.redis.keys('*')).toEqual(['bt:{1}:reserved-head'])
    expect([await seats.reserve(1, 1), await readAll()]).toEqual([true, [1]])
  })

  test('a clear that was cut off is finished by the next', async () => {
    await seats.importMany(1, [1, 2])
    await store.redis.hset('bt:{1}:reserved-head', 'generation', 2, 'positions', 0, 'count', 0, 'stale:1', 2)
    await seats.clear(1)

    expect(await store.redis.keys('*')).toEqual(['bt:{1}:reserved-head'])
  })

  test('after the store was emptied the log has another name', async () => {
    await seats.reserve(1, 1)
    const { logId } = await seats.head(1)
    await store.redis.flushall()
    await seats.reserve(1, 1)

    expect((await seats.head(1)).logId).not.toBe(logId)
  })
})

describe('reservations of earlier versions', () => {
  beforeEach(async () => void (await store.redis.sadd('bt:{1}:reserved', ...range(1, 3_000))))

  test('count at once, and are in the log once they were read', async () => {
    expect([await seats.count(1), await seats.has(1, 3_000), await seats.has(1, 3_001)]).toEqual([3_000, true, false])
    const read = await readAll()

    expect(read.toSorted((a, b) => a - b)).toEqual(range(1, 3_000))
    expect([await seats.count(1), await seats.has(1, 3_000)]).toEqual([3_000, true])
    expect(await store.redis.exists('bt:{1}:reserved')).toBe(0)
  })

  test('are not new, and are moved by whoever comes first', async () => {
    expect([
      await seats.reserve(1, 7),
      await seats.importMany(1, range(2_990, 20)),
      await seats.remove(1, [8]),
    ]).toEqual([false, 9, 1])
    await Promise.all([seats.head(1), seats.head(1)])

    expect(await seats.count(1)).toBe(3_008)
    expect((await readAll()).filter((uid) => Math.abs(uid) === 8)).toEqual([8, -8])
  })
})
