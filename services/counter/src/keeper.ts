/** A loop that one counter process runs for all: it holds the lease of a name, and works while it has it. */

import type { Logger } from '@bigtap/kernel'
import type { NameLease } from '@bigtap/store'

/** One loop over the activities that have a ledger. `work` returns true when there is more to do at once. */
export interface KeeperParts {
  readonly lease: Pick<NameLease, 'hold' | 'release'>
  readonly activities: () => Iterable<{ id: number; state: string }>
  readonly work: (activityId: number) => Promise<boolean>
  readonly logger: Logger
}

const BUSY_ROUNDS_MAX = 100
/** States of an activity that has a ledger to look after. */
export const LIVE_STATES: readonly string[] = ['preloading', 'armed', 'open', 'paused', 'closed']

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
    await this.#parts.lease.release().catch(() => undefined) // it runs out by itself
  }

  async #round(): Promise<void> {
    if (this.#isRunning || !this.#hasWork()) return
    this.#isRunning = true
    try {
      for (let round = 0; round < BUSY_ROUNDS_MAX; round++)
        if ((await this.#parts.lease.hold()) === 0 || !(await this.#workAll())) return
    } catch (error) {
      this.#parts.logger.debug({ error, keeper: this.name }, 'a round failed and will be tried again')
    } finally {
      this.#isRunning = false
    }
  }

  /** An idle platform does not even ask for the lease. */
  #hasWork(): boolean {
    for (const { state } of this.#parts.activities()) if (LIVE_STATES.includes(state)) return true
    return false
  }

  /** A fault of one activity (its ledger is in doubt, say) does not keep the others waiting. */
  async #workAll(): Promise<boolean> {
    const { activities, work, logger } = this.#parts
    let isMore = false
    for (const { id, state } of activities()) {
      if (!LIVE_STATES.includes(state)) continue
      try {
        isMore = (await work(id)) || isMore
      } catch (error) {
        logger.debug({ error, keeper: this.name, activityId: id }, 'an activity failed and will be tried again')
      }
    }
    return isMore
  }
}
