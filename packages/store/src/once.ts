import type { Store } from './connection.ts'

/** What may be used once by whoever comes first, among all processes. */
export class Once {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /**
   * Takes a name for `ttlMs`; false when somebody has taken it. Rejects when Redis does not answer within the time of the
   * store's commands: it is then unknown, and the caller says what that means.
   */
  async take(name: string, ttlMs: number): Promise<boolean> {
    return (await this.#store.redis.set(`bt:once:${name}`, '1', 'PX', Math.max(1, Math.ceil(ttlMs)), 'NX')) === 'OK'
  }
}
