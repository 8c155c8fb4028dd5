/** Bounds failed logins: after ten within a minute an address waits until its minute is over. */

/** Bounds of the guard. */
export const LOGIN_LIMITS = { failuresMax: 10, windowMs: 60_000, addressesMax: 1_024 } as const

/** Counts failures per address; the oldest address is forgotten when there are too many. */
export class LoginGuard {
  readonly #failures = new Map<string, { count: number; endsAt: number }>()

  /** Addresses that are remembered. */
  get size(): number {
    return this.#failures.size
  }

  /** How long this address must wait before it may try, ms; 0 when it may. */
  waitMs(address: string, now: number): number {
    const entry = this.#failures.get(address)
    if (entry === undefined || now >= entry.endsAt) return 0
    return entry.count >= LOGIN_LIMITS.failuresMax ? entry.endsAt - now : 0
  }

  onFailure(address: string, now: number): void {
    const known = this.#failures.get(address)
    const isOver = known === undefined || now >= known.endsAt
    const entry = isOver ? { count: 0, endsAt: now + LOGIN_LIMITS.windowMs } : known
    entry.count++
    this.#failures.delete(address)
    this.#failures.set(address, entry)
    if (this.#failures.size <= LOGIN_LIMITS.addressesMax) return
    const [oldest] = this.#failures.keys()
    if (oldest !== undefined) this.#failures.delete(oldest)
  }

  onSuccess(address: string): void {
    this.#failures.delete(address)
  }
}
