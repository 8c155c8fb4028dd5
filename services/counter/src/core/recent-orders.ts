import type { LedgerOrder } from '@bigtap/store'

/**
 * The newest state of the orders that this process has seen lately. After Redis lost its data, what PostgreSQL does not
 * have yet is put back from here. Bounded: beyond `ordersMax` the one that changed longest ago is forgotten.
 */
export class RecentOrders {
  readonly ordersMax: number
  readonly #byActivity = new Map<number, Map<string, LedgerOrder>>()
  readonly #highestSeq = new Map<number, number>()
  #size = 0

  constructor(ordersMax: number) {
    this.ordersMax = ordersMax
  }

  get size(): number {
    return this.#size
  }

  /** Remembers an order unless a newer version is known. */
  add(activityId: number, order: LedgerOrder): void {
    const orders = this.#byActivity.get(activityId) ?? new Map<string, LedgerOrder>()
    this.#byActivity.set(activityId, orders)
    this.#highestSeq.set(activityId, Math.max(order.seq, this.highestSeq(activityId)))
    const known = orders.get(order.orderId)
    if (known && known.version >= order.version) return
    if (known) orders.delete(order.orderId)
    else this.#size++
    orders.set(order.orderId, order)
    if (this.#size > this.ordersMax) this.#forgetOldest()
  }

  /** The orders of an activity by their number. */
  of(activityId: number): LedgerOrder[] {
    return [...(this.#byActivity.get(activityId)?.values() ?? [])].sort((a, b) => a.seq - b.seq)
  }

  /** The highest order number ever seen of an activity. */
  highestSeq(activityId: number): number {
    return this.#highestSeq.get(activityId) ?? 0
  }

  /** Forgets an activity that is over. */
  drop(activityId: number): void {
    this.#size -= this.#byActivity.get(activityId)?.size ?? 0
    this.#byActivity.delete(activityId)
  }

  #forgetOldest(): void {
    const [largest] = [...this.#byActivity.values()].sort((a, b) => b.size - a.size)
    for (const orderId of largest?.keys() ?? []) {
      largest?.delete(orderId)
      this.#size--
      return
    }
  }
}
