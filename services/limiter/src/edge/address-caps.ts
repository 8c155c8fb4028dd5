/** How much one address may hold of an edge at a time. */

/** What an address may have; Infinity for a proxy that is trusted, which stands for many. */
export interface AddressCap {
  /** Connections, or requests that are held where the edge is not told of connections. */
  readonly connectionsMax: number
  /** Requests that are sent only in part: headers, or a body. */
  readonly sendersMax: number
}

/** Counts of each address that has anything now; as many entries as there are connections at most. */
export class AddressCaps {
  /** What was refused. */
  refusedConnections = 0
  refusedSenders = 0
  readonly #capOf: (address: string) => AddressCap
  readonly #connections = new Map<string, number>()
  readonly #senders = new Map<string, number>()

  constructor(capOf: (address: string) => AddressCap) {
    this.#capOf = capOf
  }

  /** Addresses that have something now. */
  get size(): number {
    return Math.max(this.#connections.size, this.#senders.size)
  }

  /** One connection more; false when the address has as many as it may, and then nothing is counted. */
  connect(address: string): boolean {
    const isIn = enter(this.#connections, address, this.#capOf(address).connectionsMax)
    if (!isIn) this.refusedConnections++
    return isIn
  }

  /** One connection less. */
  disconnect(address: string): void {
    leave(this.#connections, address)
  }

  /** Begins to send a request; false when the address has as many that are not whole as it may. */
  beginSending(address: string): boolean {
    const isIn = enter(this.#senders, address, this.#capOf(address).sendersMax)
    if (!isIn) this.refusedSenders++
    return isIn
  }

  /** The request is whole, or will not be. */
  endSending(address: string): void {
    leave(this.#senders, address)
  }
}

function enter(counts: Map<string, number>, address: string, most: number): boolean {
  const count = counts.get(address) ?? 0
  if (count >= most) return false
  counts.set(address, count + 1)
  return true
}

function leave(counts: Map<string, number>, address: string): void {
  const count = counts.get(address) ?? 0
  if (count > 1) counts.set(address, count - 1)
  else counts.delete(address)
}
