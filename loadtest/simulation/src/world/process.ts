/** A process of the platform on a simulated machine: its clock, its chance, its life. */

import type { Clock, Random } from '@bigtap/kernel'
import { SeededRandom } from '@bigtap/testkit'
import { EPOCH_MS, type World } from './world.ts'

/** `hung` is SIGSTOP: nothing runs, nothing is lost. `dead` is kill -9: everything in memory is gone. */
export type ProcessState = 'running' | 'hung' | 'dead'

/** One process, from its start to its death; a restart is another one under the same id. */
export class SimProcess {
  readonly id: string
  readonly role: string
  readonly host: string
  readonly clock: Clock
  readonly random: Random
  /** What waits for a hung process to go on. */
  readonly deferred: (() => void)[] = []
  /** Called once when it dies: its sockets are closed. */
  readonly onDeath: (() => void)[] = []
  readonly onHang: (() => void)[] = []
  /** What its wall clock is ahead by, ms, and how much faster it runs. */
  clockOffsetMs = 0
  driftPerMs = 0
  readonly #world: World
  #state: ProcessState = 'running'

  constructor({ id, role, host }: { id: string; role: string; host: string }, world: World) {
    this.id = id
    this.role = role
    this.host = host
    this.#world = world
    this.random = new SeededRandom(world.below(2 ** 32))
    const startedAt = world.now
    this.clock = {
      now: () => Math.floor(EPOCH_MS + world.now + this.clockOffsetMs + (world.now - startedAt) * this.driftPerMs),
      monotonic: () => 5_000 + (world.now - startedAt) * (1 + this.driftPerMs),
    }
  }

  get state(): ProcessState {
    return this.#state
  }

  hang(): void {
    if (this.#state !== 'running') return
    this.#state = 'hung'
    this.#world.note(`${this.id} hangs`)
    for (const tell of this.onHang) tell()
  }

  goOn(): void {
    if (this.#state !== 'hung') return
    this.#state = 'running'
    this.#world.note(`${this.id} goes on`)
    for (const run of this.deferred.splice(0)) this.#world.deliver(this, 0, run)
  }

  kill(): void {
    if (this.#state === 'dead') return
    this.#state = 'dead'
    this.deferred.length = 0
    this.#world.note(`${this.id} is killed`)
    for (const tell of this.onDeath.splice(0)) tell()
  }
}
