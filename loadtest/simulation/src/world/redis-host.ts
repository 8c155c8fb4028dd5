/**
 * Redis over the simulated network: connections as the client library keeps them (in order, a timeout per command, nothing
 * waits while it is away), a server that may be away for a while, restart, or fail over to a replica that lacks the last
 * writes.
 */

import type { Store } from '@bigtap/store'
import { createClient } from '../redis/memory-store.ts'
import { RedisModel } from '../redis/redis-model.ts'
import type { Network } from './network.ts'
import type { SimProcess } from './process.ts'
import { EPOCH_MS, type World } from './world.ts'

/** Where Redis runs. */
export const REDIS_HOST = 'redis'
const RETRANSMIT_MS = 40
const RECONNECT_MS = 60

interface Pending {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
  cancelTimeout(): void
}

/** The server and all connections to it. */
export class RedisHost {
  readonly model: RedisModel
  /** Is the server's wall clock ahead? Redis judges all deadlines by it. */
  clockOffsetMs = 0
  isUp = true
  /** While it answers nothing, ms of virtual time until which. */
  stalledUntil = 0
  readonly #world: World
  readonly #network: Network
  readonly #connections = new Set<Connection>()
  #run = 1

  constructor(world: World, network: Network) {
    this.#world = world
    this.#network = network
    this.model = new RedisModel(this.#runId(), () => EPOCH_MS + world.now + this.clockOffsetMs)
  }

  /** A connection of a process. */
  connect(process: SimProcess, commandMsMax: number): Store {
    const connection = new Connection(
      { process, commandMsMax },
      { world: this.#world, network: this.#network, host: this },
    )
    this.#connections.add(connection)
    process.onDeath.push(() => this.#connections.delete(connection))
    return {
      redis: createClient((command, args) => connection.carry(command, args)),
      get runId() {
        return connection.runId
      },
      ready: () => connection.runId !== undefined,
      waitUntilReady: async () => undefined,
      close: async () => undefined,
    }
  }

  /** Takes the server away: every connection is lost, and commands under way may or may not have been carried out. */
  goAway(): void {
    this.isUp = false
    this.#world.note('redis goes away')
    for (const connection of [...this.#connections]) connection.lose()
  }

  /** It comes back as another run; `keys` is what the new one has, where that is not what the old one had. */
  comeBack(keys = this.model.keys): void {
    this.model.keys = keys
    this.#run++
    this.model.runId = this.#runId()
    this.isUp = true
    this.#world.note(`redis is back as run ${this.model.runId}`)
  }

  /** Connections break, the server stays: answers under way are lost. */
  dropConnections(share: number): void {
    this.#world.note('redis drops connections')
    for (const connection of [...this.#connections]) if (this.#world.chance(share)) connection.lose()
  }

  #runId(): string {
    return `run${this.#run}`.padEnd(12, '0')
  }
}

class Connection {
  runId: string | undefined
  readonly #settings: { process: SimProcess; commandMsMax: number }
  readonly #parts: { world: World; network: Network; host: RedisHost }
  readonly #pending = new Set<Pending>()
  #generation = 0
  #sentUntil = 0
  #answeredUntil = 0

  constructor(
    settings: { process: SimProcess; commandMsMax: number },
    parts: { world: World; network: Network; host: RedisHost },
  ) {
    this.#settings = settings
    this.#parts = parts
    this.#dial()
  }

  carry(command: string, args: readonly string[]): Promise<unknown> {
    if (this.runId === undefined)
      return Promise.reject(new Error("Stream isn't writeable and enableOfflineQueue options is false"))
    const { world, network } = this.#parts
    return new Promise((resolve, reject) => {
      const timeout = world.deliver(this.#settings.process, this.#settings.commandMsMax, () => {
        this.#pending.delete(pending)
        reject(new Error('Command timed out'))
      })
      const cancelTimeout = () => {
        timeout.isCancelled = true
      }
      const pending: Pending = { resolve, reject, cancelTimeout }
      this.#pending.add(pending)
      this.#sentUntil = Math.max(this.#sentUntil, world.now + network.delayMs())
      this.#arrive(this.#generation, this.#sentUntil, { command, args, pending })
    })
  }

  lose(): void {
    const { world } = this.#parts
    const { process } = this.#settings
    this.#generation++
    const lost = [...this.#pending]
    this.#pending.clear()
    for (const { cancelTimeout } of lost) cancelTimeout()
    world.deliver(process, 0.1, () => {
      this.runId = undefined
      for (const { reject } of lost) reject(new Error('Connection is closed.'))
    })
    world.deliver(process, RECONNECT_MS, () => this.#dial())
  }

  #isCut(): boolean {
    return this.#parts.network.isCut(this.#settings.process.host, REDIS_HOST)
  }

  /** The command reaches the server, or is sent again while the network is cut. */
  #arrive(generation: number, at: number, call: { command: string; args: readonly string[]; pending: Pending }): void {
    const { world, host } = this.#parts
    world.after(Math.max(0, at - world.now), () => {
      if (generation !== this.#generation || !host.isUp) return
      if (this.#isCut()) return this.#arrive(generation, world.now + RETRANSMIT_MS, call)
      if (host.stalledUntil > world.now) return this.#arrive(generation, host.stalledUntil, call)
      host.model.caller = this.#settings.process.id
      this.#answer(generation, call.pending, execute(host.model, call.command, call.args))
    })
  }

  #answer(generation: number, pending: Pending, outcome: Outcome): void {
    const { world, network } = this.#parts
    this.#answeredUntil = Math.max(this.#answeredUntil, world.now + network.delayMs())
    const attempt = (at: number) => {
      world.after(Math.max(0, at - world.now), () => {
        if (generation !== this.#generation) return
        if (this.#isCut()) return attempt(world.now + RETRANSMIT_MS)
        world.runIn(this.#settings.process, () => {
          if (!this.#pending.delete(pending)) return
          pending.cancelTimeout()
          if (outcome.error === undefined) pending.resolve(outcome.reply)
          else pending.reject(outcome.error)
        })
      })
    }
    attempt(this.#answeredUntil)
  }

  #dial(): void {
    const { world, network, host } = this.#parts
    const { process } = this.#settings
    const generation = this.#generation
    world.deliver(process, network.delayMs() * 3, () => {
      if (generation !== this.#generation) return
      if (!host.isUp || this.#isCut() || host.stalledUntil > world.now)
        world.deliver(process, RECONNECT_MS, () => this.#dial())
      else this.runId = host.model.runId
    })
  }
}

interface Outcome {
  readonly reply?: unknown
  readonly error?: Error
}

function execute(model: RedisModel, command: string, args: readonly string[]): Outcome {
  try {
    return { reply: model.command(command, args) }
  } catch (error) {
    return { error: error instanceof Error ? error : new Error(String(error)) }
  }
}
