import type { Store } from './connection.ts'
import { loadScript, runScript } from './script.ts'

const SCRIPTS = { hold: loadScript('lease-name-2'), release: loadScript('release-name-1') }

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

  get #holderKey(): string {
    return `bt:{lease:${this.#name}}:holder`
  }
}
