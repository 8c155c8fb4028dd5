/**
 * Who has reserved a seat in an activity: sets that say who has one, and a log of the same uids in the order they came.
 * A reader keeps its position and reads on from there; `scripts/seats.lua` draws the keys.
 *
 * ```
 *   head  { generation 1, positions 20,001, count 20,000 }
 *   sets  [ uid mod 65,521 = 0 ][ 1 ][ 2 ] …                     is it new?
 *   log   [ page 0: 8,192 uids ][ page 1: 8,192 ][ page 2: 3,617 ]   what is new since position p?
 * ```
 */

import { assert, CodedError } from '@bigtap/kernel'
import type { Store } from './connection.ts'
import { rootKey } from './guards.ts'
import { loadScript, runScript } from './script.ts'

/** Where the log of an activity stands. */
export interface ReservationsHead {
  /** Names this log on this run of the server: under another id positions mean nothing, and all is read again. */
  readonly logId: string
  /** One more after each clear: what was held of an earlier one is void. */
  readonly generation: number
  /** Entries of the log. */
  readonly positions: number
  /** Seats. */
  readonly count: number
}

/** Most seats of one activity; one more is refused with RESERVATIONS_FULL. */
export const RESERVATIONS_MAX = 20_000_000
/** Entries of one page of the log: 64 KiB. As in scripts/seats.lua. */
export const RESERVATIONS_PAGE = 8_192

/** Uids in one call, which takes Redis' one thread about 1 ms. */
const CALL_UIDS_MAX = 256
/** Calls or pages on the way at a time. */
const AHEAD = 4
const ENTRY_BYTES = 8
const UNLINK_KEYS_MAX = 1_024
/** As in scripts/seats.lua: a prime, so that no pattern in the uids fills one set more than another. */
const SETS = 65_521

const SEATS = ['seats']
const SCRIPTS = {
  add: loadScript('add-seats-1', SEATS),
  adopt: loadScript('adopt-seats-1', SEATS),
  remove: loadScript('remove-seats-1', SEATS),
  clear: loadScript('clear-seats-1', SEATS),
}

/** Reservations of all activities. */
export class Reservations {
  readonly #store: Store
  readonly #seatsMax: number

  constructor(store: Store, { seatsMax = RESERVATIONS_MAX }: { seatsMax?: number } = {}) {
    this.#store = store
    this.#seatsMax = seatsMax
  }

  /** Reserves; true the first time. Throws RESERVATIONS_FULL. */
  async reserve(activityId: number, uid: number): Promise<boolean> {
    return (await this.#add(activityId, [uid])) === 1
  }

  /**
   * Reserves for many, and gives how many of them are new. It may be repeated: what was written stays, nobody is
   * counted twice. Throws RESERVATIONS_FULL after those that fitted.
   */
  async importMany(activityId: number, uids: Float64Array | readonly number[]): Promise<number> {
    let added = 0
    for (let at = 0; at < uids.length; at += AHEAD * CALL_UIDS_MAX) {
      const calls: Promise<number>[] = []
      const end = Math.min(at + AHEAD * CALL_UIDS_MAX, uids.length)
      for (let from = at; from < end; from += CALL_UIDS_MAX)
        calls.push(this.#add(activityId, uids.slice(from, Math.min(from + CALL_UIDS_MAX, end))))
      // All of them end before one's failure is told, so that a repeat does not overtake them.
      const ended = await Promise.allSettled(calls)
      for (const call of ended) {
        if (call.status === 'rejected') throw call.reason
        added += call.value
      }
    }
    return added
  }

  /** Takes seats back, and gives how many there were. */
  async remove(activityId: number, uids: Float64Array | readonly number[]): Promise<number> {
    let removed = 0
    for (let at = 0; at < uids.length; at += CALL_UIDS_MAX)
      removed += Number(await this.#run('remove', activityId, texts(uids.slice(at, at + CALL_UIDS_MAX))))
    return removed
  }

  /** Has this buyer reserved? */
  async has(activityId: number, uid: number): Promise<boolean> {
    const { redis } = this.#store
    const { generation } = await this.#readHead(activityId)
    const [inSet, inOld] = await Promise.all([
      redis.sismember(setKey(activityId, generation, uid % SETS), uid),
      redis.sismember(oldKey(activityId), uid),
    ])
    return inSet === 1 || inOld === 1
  }

  /** How many have reserved. */
  async count(activityId: number): Promise<number> {
    const [head, old] = await Promise.all([this.#readHead(activityId), this.#store.redis.scard(oldKey(activityId))])
    return head.count + old
  }

  /** Where the log stands; uids in the form of earlier versions are moved into it first. */
  async head(activityId: number): Promise<ReservationsHead> {
    for (let left = await this.#store.redis.scard(oldKey(activityId)); left > 0; )
      left = Number(await this.#run('adopt', activityId, [`${CALL_UIDS_MAX}`]))
    return this.#readHead(activityId)
  }

  /**
   * What the log holds from a position on, in pages; a negative entry is a seat that was taken back. It ends at the
   * head, or earlier where the log has gone meanwhile: the reader goes on by what it got.
   */
  async *read(activityId: number, head: ReservationsHead, from: number): AsyncGenerator<Float64Array> {
    const ahead: Promise<Buffer>[] = []
    let next = from
    const ask = () => {
      if (next >= head.positions) return
      const page = this.#page(activityId, head.generation, next)
      page.catch(() => undefined) // awaited below, in its turn
      ahead.push(page)
      next = (Math.floor(next / RESERVATIONS_PAGE) + 1) * RESERVATIONS_PAGE
    }
    for (let count = 0; count < AHEAD; count++) ask()
    for (let at = from, page = ahead.shift(); page !== undefined; page = ahead.shift()) {
      const entries = unpack(await page)
      if (entries.length === 0) return
      ask()
      yield entries
      at += entries.length
      if (at % RESERVATIONS_PAGE !== 0) return
    }
  }

  /** Takes all seats of an activity back. What a clear that was cut off has left is dropped by the next one. */
  async clear(activityId: number): Promise<void> {
    await this.#run('clear', activityId, [])
    const fields = await this.#store.redis.hgetall(headKey(activityId))
    for (const [field, positions] of Object.entries(fields)) {
      const generation = /^stale:(\d+)$/.exec(field)?.[1]
      if (generation === undefined) continue
      await this.#drop(activityId, Number(generation), Number(positions))
      await this.#store.redis.hdel(headKey(activityId), field)
    }
  }

  async #drop(activityId: number, generation: number, positions: number): Promise<void> {
    const pages = Math.ceil(positions / RESERVATIONS_PAGE)
    const nameOf = (index: number) =>
      index < pages ? pageKey(activityId, generation, index) : setKey(activityId, generation, index - pages)
    for (let at = 0; at < pages + SETS; at += UNLINK_KEYS_MAX) {
      const length = Math.min(UNLINK_KEYS_MAX, pages + SETS - at)
      await this.#store.redis.unlink(Array.from({ length }, (_, index) => nameOf(at + index)))
    }
  }

  async #add(activityId: number, uids: Float64Array | readonly number[]): Promise<number> {
    const [added = 0, refused = 0] = (await this.#run('add', activityId, texts(uids))) as number[]
    if (refused === 0) return added
    const message = `activity ${activityId} has ${this.#seatsMax} reservations, ${refused} more were refused`
    throw new CodedError({ code: 'RESERVATIONS_FULL', message, data: { activityId, added, refused } })
  }

  #run(name: keyof typeof SCRIPTS, activityId: number, args: readonly string[]): Promise<unknown> {
    return runScript(this.#store, SCRIPTS[name], [headKey(activityId)], [this.#seatsMax, ...args])
  }

  async #readHead(activityId: number): Promise<ReservationsHead> {
    const { redis, runId } = this.#store
    if (runId === undefined) throw new CodedError({ code: 'STORE_UNAVAILABLE', message: 'redis is not connected' })
    const values = await redis.hmget(headKey(activityId), 'generation', 'positions', 'count', 'bornAt')
    const [generation, positions, count, bornAt] = values
    const logId = `${runId}:${bornAt ?? ''}:${generation ?? 1}`
    return { logId, generation: Number(generation ?? 1), positions: Number(positions ?? 0), count: Number(count ?? 0) }
  }

  /** From a position to the end of its page. */
  #page(activityId: number, generation: number, position: number): Promise<Buffer> {
    const key = pageKey(activityId, generation, Math.floor(position / RESERVATIONS_PAGE))
    return this.#store.redis.getrangeBuffer(key, (position % RESERVATIONS_PAGE) * ENTRY_BYTES, -1)
  }
}

function texts(uids: Float64Array | readonly number[]): string[] {
  return Array.from(uids, (uid) => {
    assert(Number.isSafeInteger(uid) && uid >= 1, `uid ${uid} is not from 1 to 2^53 - 1`)
    return `${uid}`
  })
}

/** The bytes of Redis are little-endian, and lie anywhere. */
function unpack(bytes: Buffer): Float64Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const entries = new Float64Array(Math.floor(bytes.byteLength / ENTRY_BYTES))
  for (let index = 0; index < entries.length; index++) entries[index] = view.getFloat64(index * ENTRY_BYTES, true)
  return entries
}

const headKey = (activityId: number) => `${rootKey(activityId)}reserved-head`
const oldKey = (activityId: number) => `${rootKey(activityId)}reserved`
const setKey = (activityId: number, generation: number, set: number) =>
  `${rootKey(activityId)}reserved:${generation}:set:${set}`
const pageKey = (activityId: number, generation: number, page: number) =>
  `${rootKey(activityId)}reserved:${generation}:log:${page}`
