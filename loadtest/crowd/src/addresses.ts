/**
 * Source addresses, drawn from 127.0.0.0/8, all of which belong to one machine. 127.0.0.0/16 stays the platform's own.
 *
 * ```
 * 127.0    the platform        127.16-79    homes, and the proxies of farms among them
 * 127.96   data centres        127.200      one address for thousands
 * ```
 */

type Draw = () => number

const HOMES = { from: 16, count: 64 }
const CENTRES = { from: 96, count: 32 }
const SHARED = 200
const HOSTS = 254
const TRIES_MAX = 1_000

/** Gives addresses out; none twice. */
export class AddressBook {
  readonly #given = new Set<string>()
  readonly #draw: Draw

  constructor(draw: Draw) {
    this.#draw = draw
  }

  /** Somewhere among the homes. */
  home(): string {
    return this.#fresh(
      () => `127.${HOMES.from + this.#below(HOMES.count)}.${this.#below(256)}.${1 + this.#below(HOSTS)}`,
    )
  }

  /** A network of a data centre: the first three numbers. */
  centre(): string {
    return `127.${CENTRES.from + this.#below(CENTRES.count)}.${this.#below(256)}`
  }

  /** An address of a network. */
  within(network: string): string {
    return this.#fresh(() => `${network}.${1 + this.#below(HOSTS)}`)
  }

  /** Address number `index` of those that many share. */
  shared(index: number): string {
    return `127.${SHARED}.${Math.floor(index / HOSTS) % 256}.${1 + (index % HOSTS)}`
  }

  #fresh(make: () => string): string {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const address = make()
      if (this.#given.has(address)) continue
      this.#given.add(address)
      return address
    }
    // A network that is full: its addresses are used by several.
    return make()
  }

  #below(count: number): number {
    return Math.min(Math.floor(this.#draw() * count), count - 1)
  }
}
