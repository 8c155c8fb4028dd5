/** The ledgers as they stand in Redis, read only. */

import type { Mirror } from '@bigtap/catalog'
import type { Ledger, LedgerOrder, Store } from '@bigtap/store'

/** What the view works with. */
export interface LedgerViewParts {
  readonly ledger: Pick<Ledger, 'order' | 'figures' | 'scanOrders' | 'guards'>
  readonly store: Pick<Store, 'runId'>
  readonly mirror: Pick<Mirror, 'activities' | 'sku' | 'isLoaded'>
}

/** An order and the activity whose ledger has it. */
export interface PlacedOrder {
  readonly activityId: number
  readonly order: LedgerOrder
}

/** Only an activity that has got so far, and not further, has a ledger. */
const LEDGER_STATES: readonly string[] = ['armed', 'open', 'paused', 'closed']

/** Reads orders and figures of all ledgers. */
export class LedgerView {
  readonly #parts: LedgerViewParts

  constructor(parts: LedgerViewParts) {
    this.#parts = parts
  }

  /** Activities that have a ledger. */
  activityIds(): number[] {
    const { mirror } = this.#parts
    return [...mirror.activities().values()].filter(({ state }) => LEDGER_STATES.includes(state)).map(({ id }) => id)
  }

  /** Is the activity known, and without a ledger: it was archived, or reset? False while nothing is known. */
  isOver(activityId: number): boolean {
    return this.#parts.mirror.isLoaded && !this.activityIds().includes(activityId)
  }

  currencyOf(activityId: number, skuId: number): string {
    return this.#parts.mirror.sku(activityId, skuId)?.currency ?? ''
  }

  order(activityId: number, orderId: string): Promise<LedgerOrder | undefined> {
    return this.#parts.ledger.order(activityId, orderId)
  }

  /** The order, in whichever ledger it is. */
  async find(orderId: string): Promise<PlacedOrder | undefined> {
    for (const activityId of this.activityIds()) {
      const order = await this.order(activityId, orderId)
      if (order) return { activityId, order }
    }
    return undefined
  }

  /** Is the activity's ledger verified on the present run of the server? One that is being rebuilt may lack orders. */
  async isVerified(activityId: number): Promise<boolean> {
    const { ledger, store } = this.#parts
    const guard = await ledger.guards.read(activityId)
    return store.runId !== undefined && guard?.endsWith(`:${store.runId}`) === true
  }

  /** Are all ledgers verified? Only then "not found" means that there is no such order. */
  async isWhole(): Promise<boolean> {
    if (!this.#parts.mirror.isLoaded) return false
    for (const activityId of this.activityIds()) if (!(await this.isVerified(activityId))) return false
    return true
  }

  figures(activityId: number): ReturnType<Ledger['figures']> {
    return this.#parts.ledger.figures(activityId)
  }

  scanOrders(activityId: number, cursor: number): ReturnType<Ledger['scanOrders']> {
    return this.#parts.ledger.scanOrders(activityId, cursor)
  }
}
