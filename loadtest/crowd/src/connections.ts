/**
 * Connections from many addresses to the limiters: made when an address first speaks, capped in total. At the cap the one
 * used longest ago is closed once its answers are there.
 */

import { Pool } from 'undici'

/** Limits of the connections; ms. */
export interface ConnectionSettings {
  readonly limiters: readonly string[]
  /** All together; an address counts with as many as it may open. */
  readonly connectionsMax: number
  readonly answerMsMax: number
}

/** Who speaks: an address, and how many connections it may keep open. */
export interface Speaker {
  readonly address: string
  readonly connections: number
}

interface Entry {
  readonly pool: Pool
  readonly weight: number
}

/** One pool per address and limiter; an address with one connection stays at one limiter, as behind a balancer. */
export class Connections {
  /** How often one was closed because there were too many. */
  evicted = 0
  readonly #settings: ConnectionSettings
  readonly #entries = new Map<string, Entry>()
  #open = 0
  #turn = 0

  constructor(settings: ConnectionSettings) {
    this.#settings = settings
  }

  /** Connections that may be open now. */
  get open(): number {
    return this.#open
  }

  /** The pool of a speaker; the caller says with `lost` when it did not answer. */
  of({ address, connections }: Speaker): Pool {
    const known = this.#entries.get(address)
    if (known !== undefined) {
      this.#entries.delete(address)
      this.#entries.set(address, known)
      return known.pool
    }
    while (this.#open + connections > this.#settings.connectionsMax && this.#entries.size > 0) this.#evict()
    const entry = { pool: this.#connect(address, connections), weight: connections }
    this.#entries.set(address, entry)
    this.#open += connections
    return entry.pool
  }

  /** The address goes to the next limiter from now on. */
  lost(address: string, pool: Pool): void {
    if (this.#entries.get(address)?.pool === pool) this.#remove(address)
  }

  async close(): Promise<void> {
    const all = [...this.#entries.values()]
    this.#entries.clear()
    await Promise.all(all.map(({ pool }) => pool.destroy()))
  }

  #evict(): void {
    const [oldest] = this.#entries.keys()
    if (oldest === undefined) return
    this.evicted++
    this.#remove(oldest)
  }

  #remove(address: string): void {
    const entry = this.#entries.get(address)
    if (entry === undefined) return
    this.#entries.delete(address)
    this.#open -= entry.weight
    entry.pool.close().catch(() => undefined) // what is under way ends first; a failure there has been answered already
  }

  #connect(address: string, connections: number): Pool {
    const { limiters, answerMsMax } = this.#settings
    const origin = limiters[this.#turn++ % limiters.length]
    if (origin === undefined) throw new Error('a crowd needs at least one limiter')
    return new Pool(origin, {
      connections,
      pipelining: 1,
      localAddress: address,
      headersTimeout: answerMsMax,
      bodyTimeout: answerMsMax,
      connectTimeout: 5_000,
    })
  }
}
