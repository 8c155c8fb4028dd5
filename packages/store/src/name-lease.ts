import type { Store } from './connection.ts'
import { loadScript, runScript } from './script.ts'

const SCRIPTS = {
  hold: loadScript('lease-name-2'),
  release: loadScript('release-name-1'),
  raise: loadScript('raise-fence-1'),
}

/** A lease on a name: one owner at a time, with a fencing number that grows with every new owner. */
export class NameLease {
  readonly #store: Store
  readonly #name: string
  readonly #owner: string
  readonly #ttlMs: number

  constructor(store: Store, { name, owner, ttlMs }: { name: string; owner: string; ttlMs: number }) {
    this.#store = store
    this.#name = name
    this.#owner = owner
    this.#ttlMs = ttlMs
  }

  /** Takes or renews it: the fence, or 0 when somebody else has it. */
  async hold(): Promise<number> {
    const keys = [this.#holderKey, `bt:{lease:${this.#name}}:fence`]
    return Number(await runScript(this.#store, SCRIPTS.hold, keys, [this.#owner, this.#ttlMs]))
  }

  /** Ends it early, so that the next owner need not wait. */
  async release(): Promise<void> {
    await runScript(this.#store, SCRIPTS.release, [this.#holderKey], [this.#owner])
  }

  /** Who has it now. */
  async holder(): Promise<string | undefined> {
    return (await this.#store.redis.get(this.#holderKey)) ?? undefined
  }

  /** After Redis was emptied: lets the fence be at least this, so that it is not below one that was used before. */
  async raiseFence(atLeast: number): Promise<void> {
    await runScript(this.#store, SCRIPTS.raise, [`bt:{lease:${this.#name}}:fence`], [atLeast])
  }

  get #holderKey(): string {
    return `bt:{lease:${this.#name}}:holder`
  }
}
