/** A loop that one counter process runs for all: it holds the lease of a name, and works while it has it. */

import type { Logger } from '@bigtap/kernel'
import type { NameLease } from '@bigtap/store'

/** One loop. `work` returns true when there is more to do at once. */
export interface KeeperParts {
  readonly lease: NameLease
  readonly work: () => Promise<boolean>
  readonly logger: Logger
}

const BUSY_ROUNDS_MAX = 100

/** Runs a loop each `everyMs`; a round that fails is logged and tried again. */
export class Keeper {
  readonly name: string
  readonly #everyMs: number
  readonly #parts: KeeperParts
  #timer: NodeJS.Timeout | undefined
  #isRunning = false

  constructor({ name, everyMs }: { name: string; everyMs: number }, parts: KeeperParts) {
    this.name = name
    this.#everyMs = everyMs
    this.#parts = parts
  }

  start(): void {
    this.#timer = setInterval(() => void this.#round(), this.#everyMs)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    while (this.#isRunning) await new Promise((resolve) => setTimeout(resolve, 5))
  }

  async #round(): Promise<void> {
    if (this.#isRunning) return
    this.#isRunning = true
    try {
      if ((await this.#parts.lease.hold()) === 0) return
      for (let round = 0; round < BUSY_ROUNDS_MAX && (await this.#parts.work()); round++);
    } catch (error) {
      this.#parts.logger.debug({ error, keeper: this.name }, 'a round failed and will be tried again')
    } finally {
      this.#isRunning = false
    }
  }
}
