/** The simulated network: who reaches whom, and how fast. */

import type { World } from './world.ts'

/** What a network does to what is sent; shares in [0, 1]. */
export interface NetworkRates {
  readonly latencyMs: number
  readonly jitterMs: number
  /** A share of messages takes up to `slowMs`. */
  readonly slow: number
  readonly slowMs: number
  /** Frames between services that get lost, come twice, or pass others. */
  readonly lost: number
  readonly twice: number
  readonly reordered: number
}

/** A network without faults. */
export const QUIET_NETWORK: NetworkRates = {
  ...{ latencyMs: 0.2, jitterMs: 0.3, slow: 0, slowMs: 0, lost: 0, twice: 0, reordered: 0 },
}

/** Hosts and the cuts between them. */
export class Network {
  rates: NetworkRates
  readonly #world: World
  readonly #cuts = new Map<string, number>()
  readonly #listeners: ((a: string, b: string) => void)[] = []

  constructor(rates: NetworkRates, world: World) {
    this.rates = rates
    this.#world = world
  }

  delayMs(): number {
    const { latencyMs, jitterMs, slow, slowMs } = this.rates
    const { random } = this.#world
    const base = latencyMs + random.next() * jitterMs
    return slow > 0 && random.next() < slow ? base + random.next() * slowMs : base
  }

  isCut(a: string, b: string): boolean {
    return (this.#cuts.get(pairOf(a, b)) ?? 0) > 0
  }

  /** Cuts two hosts from each other, both ways. */
  cut(a: string, b: string): void {
    const pair = pairOf(a, b)
    this.#cuts.set(pair, (this.#cuts.get(pair) ?? 0) + 1)
    for (const tell of this.#listeners) tell(a, b)
  }

  heal(a: string, b: string): void {
    const pair = pairOf(a, b)
    this.#cuts.set(pair, Math.max(0, (this.#cuts.get(pair) ?? 0) - 1))
  }

  healAll(): void {
    this.#cuts.clear()
  }

  onCut(listener: (a: string, b: string) => void): void {
    this.#listeners.push(listener)
  }
}

function pairOf(a: string, b: string): string {
  return a < b ? `${a} ${b}` : `${b} ${a}`
}
