/** A call to a server that is no process of ours: PostgreSQL, the event log. It may be away, and an answer may be lost. */

import type { Network } from './network.ts'
import type { SimProcess } from './process.ts'
import type { World } from './world.ts'

/** A server in the simulated network. */
export class RemoteServer {
  isUp = true
  /** Share of calls that are carried out although the caller hears that they failed. */
  unknown = 0
  readonly host: string
  readonly #world: World
  readonly #network: Network

  constructor(host: string, world: World, network: Network) {
    this.host = host
    this.#world = world
    this.#network = network
  }

  /** Carries out `work` on the server; rejects with `fault()` after `msMax` when there is no answer. */
  call<T>(process: SimProcess, work: () => T, { msMax, fault }: { msMax: number; fault: () => Error }): Promise<T> {
    const world = this.#world
    return new Promise((resolve, reject) => {
      const fail = () => world.deliver(process, msMax, () => reject(fault()))
      if (!this.#isReachable(process)) return void fail()
      world.after(this.#network.delayMs(), () => {
        if (!this.#isReachable(process)) return void fail()
        const result = attempt(work)
        if (this.unknown > 0 && world.chance(this.unknown)) return void fail()
        world.after(this.#network.delayMs(), () => {
          if (!this.#isReachable(process)) return void fail()
          world.runIn(process, () => (result.error === undefined ? resolve(result.value as T) : reject(result.error)))
        })
      })
    })
  }

  #isReachable(process: SimProcess): boolean {
    return this.isUp && !this.#network.isCut(process.host, this.host)
  }
}

function attempt<T>(work: () => T): { value?: T; error?: unknown } {
  try {
    return { value: work() }
  } catch (error) {
    return { error: error ?? new Error('unknown') }
  }
}
