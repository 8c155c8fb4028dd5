/** Who has reserved a seat in an activity. */

import type { Store } from './connection.ts'
import { rootKey } from './guards.ts'

/** Reservations of all activities. */
export class Reservations {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Reserves; true the first time. */
  async reserve(activityId: number, uid: number): Promise<boolean> {
    return (await this.#store.redis.sadd(key(activityId), uid)) === 1
  }

  /** Has this buyer reserved? */
  async has(activityId: number, uid: number): Promise<boolean> {
    return (await this.#store.redis.sismember(key(activityId), uid)) === 1
  }

  /** How many have reserved. */
  count(activityId: number): Promise<number> {
    return this.#store.redis.scard(key(activityId))
  }

  /** All buyers that have reserved, in pages; one may come twice. */
  async *stream(activityId: number): AsyncGenerator<number[]> {
    let cursor = '0'
    do {
      const [next, uids] = await this.#store.redis.sscan(key(activityId), cursor, 'COUNT', PAGE_UIDS)
      cursor = next
      yield uids.map(Number)
    } while (cursor !== '0')
  }
}

/** One page takes Redis about 1 ms. */
const PAGE_UIDS = 5_000

const key = (activityId: number) => `${rootKey(activityId)}reserved`
