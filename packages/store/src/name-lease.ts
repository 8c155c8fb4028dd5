import type { Store } from './connection.ts'
import { loadScript, runScript } from './script.ts'

const SCRIPT = loadScript('lease-name-2')

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
    const keys = [`bt:{lease:${this.#name}}:holder`, `bt:{lease:${this.#name}}:fence`]
    return Number(await runScript(this.#store, SCRIPT, keys, [this.#owner, this.#ttlMs]))
  }
}
