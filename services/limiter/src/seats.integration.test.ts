import { Documents } from '@bigtap/catalog'
import { activityKey, DEFAULT_WAITING, NO_CHALLENGE } from '@bigtap/domain'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import { connectStore, Reservations, type ReservationsHead, type Store } from '@bigtap/store'
import { type Engine, startRedis, waitFor } from '@bigtap/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ReservationStore, SeatKeeper } from './seats.ts'

const range = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index)
const now = Date.now()

let redis: Engine
let store: Store
let reservations: Reservations
let catalog: Documents
let revision = 0
const keepers: SeatKeeper[] = []

beforeAll(async () => {
  redis = await startRedis()
  store = connectStore({ url: redis.url, commandMsMax: 5_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
})

beforeEach(async () => {
  await store.redis.flushall()
  reservations = new Reservations(store)
  catalog = new Documents()
  publish(1, 'scheduled')
})

afterEach(() => {
  for (const keeper of keepers.splice(0)) keeper.stop()
})

afterAll(async () => {
  await store.close()
  await redis.stop()
})

function publish(id: number, state: string): void {
  const reservation = { required: true, opensAt: now - 1_000, closesAt: now + 60_000 }
  const activity = { id, title: 'Phone', state, opensAt: now, closesAt: now + 60_000, rule: 'unlimited' }
  const key = activityKey(id)
  const body = {
    ...activity,
    admission: 'direct',
    waiting: DEFAULT_WAITING,
    challenge: NO_CHALLENGE,
    skuIds: [1],
    accessLimits: [],
    reservation,
  }
  expect(catalog.apply({ key, revision: ++revision, body })).toBe('applied')
}

function startKeeper(from: ReservationStore = reservations, seatsMax?: number): SeatKeeper {
  const parts = { catalog, store: from, logger: nullLogger, metrics: nullMetrics }
  const keeper = new SeatKeeper({ ...parts, ...(seatsMax === undefined ? {} : { seatsMax }) })
  keepers.push(keeper)
  keeper.start()
  return keeper
}

const isLoaded = (keeper: SeatKeeper, id = 1) =>
  waitFor('the seats', () => keeper.hasSeat(id, Number.MAX_SAFE_INTEGER) === false)

describe('the seats of a limiter', () => {
  test('what was reserved before it started is known once all is read, and nobody is refused until then', async () => {
    await reservations.importMany(1, range(1, 100_000))
    const keeper = startKeeper()
    expect([keeper.hasSeat(1, 1), keeper.hasSeat(1, 200_000)]).toEqual([undefined, undefined])

    await isLoaded(keeper)
    expect(range(1, 100_000).every((uid) => keeper.hasSeat(1, uid))).toBe(true)
    expect([keeper.hasSeat(1, 100_001), keeper.countOf(1)]).toEqual([false, 100_000])
  })

  test('a reservation at one limiter is seen by all others, an import and a removal too', async () => {
    const [here, there] = [startKeeper(), startKeeper()]
    await Promise.all([isLoaded(here), isLoaded(there)])

    expect([await here.reserve(1, 5), await there.reserve(1, 5)]).toEqual(['first', 'again'])
    expect(here.hasSeat(1, 5)).toBe(true)
    await here.reserve(1, 6)
    await waitFor('the seat there', () => there.hasSeat(1, 6))
    await reservations.importMany(1, range(100, 20_000))
    await waitFor('the import', () => here.hasSeat(1, 20_099) && there.hasSeat(1, 20_099))
    await reservations.remove(1, [5])
    await waitFor('the removal', () => here.hasSeat(1, 5) === false && there.hasSeat(1, 5) === false)
    expect(there.countOf(1)).toBe(20_001)
  })

  test('a store that fails in between loses nothing: it is read on where it was left', async () => {
    await reservations.importMany(1, range(1, 60_000))
    const asked: number[] = []
    const keeper = startKeeper({
      reserve: (id, uid) => reservations.reserve(id, uid),
      head: (id) => reservations.head(id),
      async *read(id, head, from) {
        asked.push(from)
        let pages = 0
        for await (const page of reservations.read(id, head as ReservationsHead, from)) {
          if (++pages === 4 && asked.length < 3) throw new Error('cut off')
          yield page
        }
      },
    })
    await isLoaded(keeper)

    expect(asked.slice(0, 3)).toEqual([0, 3 * 8_192, 6 * 8_192])
    expect(range(1, 60_000).every((uid) => keeper.hasSeat(1, uid))).toBe(true)
  })

  test('a clear voids the seats, and an emptied store does not', async () => {
    await reservations.importMany(1, [1, 2])
    const keeper = startKeeper()
    await isLoaded(keeper)

    await store.redis.flushall()
    await reservations.reserve(1, 3)
    await waitFor('the new seat', () => keeper.hasSeat(1, 3))
    expect(keeper.hasSeat(1, 1)).toBe(true)
    await reservations.clear(1)
    await waitFor('the clear', () => keeper.hasSeat(1, 3) === false)
    expect(keeper.hasSeat(1, 1)).toBe(false)
  })

  test('an activity that is reset or archived is forgotten, and read afresh when it is scheduled again', async () => {
    await reservations.reserve(1, 1)
    const keeper = startKeeper()
    await isLoaded(keeper)

    publish(1, 'draft')
    await waitFor('it to be forgotten', () => keeper.hasSeat(1, 1) === undefined)
    expect(keeper.countOf(1)).toBe(0)
    publish(1, 'scheduled')
    await isLoaded(keeper)
    expect(keeper.hasSeat(1, 1)).toBe(true)
  })

  test('an activity that does not fit beside another is unknown, and known when the other has gone', async () => {
    await reservations.importMany(1, range(1, 80))
    const keeper = startKeeper(reservations, 100)
    await isLoaded(keeper)
    await reservations.importMany(2, range(1, 50))
    publish(2, 'scheduled')
    await keeper.sync()

    expect([keeper.hasSeat(2, 1), keeper.hasSeat(2, 51), keeper.hasSeat(1, 81)]).toEqual([undefined, undefined, false])
    publish(1, 'archived')
    await isLoaded(keeper, 2)
    expect(keeper.hasSeat(2, 50)).toBe(true)
  })

  test('a full activity takes no more reservations', async () => {
    const small = new Reservations(store, { seatsMax: 2 })
    const keeper = startKeeper(small)

    expect([await keeper.reserve(1, 1), await keeper.reserve(1, 2)]).toEqual(['first', 'first'])
    expect([await keeper.reserve(1, 3), await keeper.reserve(1, 2)]).toEqual(['full', 'again'])
  })
})
