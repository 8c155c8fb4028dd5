/** Makes the ledgers of preloading sales, one try at a time, with a growing pause between the tries. */

import { backoffMs, type Clock, type Logger, type Random } from '@bigtap/kernel'
import type { Ledger, Store } from '@bigtap/store'
import type { Sale } from './book.ts'

/** Collaborators. */
export interface OpenerParts {
  readonly store: Pick<Store, 'runId'>
  readonly ledger: Ledger
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

const PAUSE = { baseMs: 50, maxMs: 1_000 }

/** Tries until it succeeds or the keeper no longer asks: the sale's closing time is the bound. */
export class LedgerOpener {
  readonly #parts: OpenerParts
  readonly #tries = new Map<number, { count: number; nextAt: number; isRunning: boolean }>()

  constructor(parts: OpenerParts) {
    this.#parts = parts
  }

  /** Begins a try, if none runs and the pause is over. */
  async open(sale: Sale): Promise<void> {
    const { clock, logger, random } = this.#parts
    const activityId = sale.activity.id
    const tries = this.#tries.get(activityId) ?? { count: 0, nextAt: 0, isRunning: false }
    if (tries.isRunning || clock.monotonic() < tries.nextAt) return
    this.#tries.set(activityId, tries)
    tries.isRunning = true
    try {
      await this.#make(sale)
      sale.hasLedger = true
      this.#tries.delete(activityId)
    } catch (error) {
      tries.count++
      tries.nextAt = clock.monotonic() + backoffMs({ ...PAUSE, attempt: tries.count, draw: random.next() })
      logger.warn({ error, activityId, tries: tries.count }, 'the ledger could not be opened and is tried again')
    } finally {
      tries.isRunning = false
    }
  }

  async #make(sale: Sale): Promise<void> {
    const { ledger, store } = this.#parts
    const { id, rule } = sale.activity
    const guard = await ledger.guards.read(id)
    // Orders without a ledger, or a ledger of another run of Redis: the counter rebuilds it once the sale is armed.
    if (guard === undefined ? sale.hasSold : !guard.endsWith(`:${store.runId}`)) return
    const skus = [...sale.skus.values()]
    // Nobody waits before the opening: places of a run before a reset are void.
    await ledger.lines.clear(
      id,
      skus.map(({ id: skuId }) => skuId),
    )
    await ledger.open(
      id,
      rule,
      skus.map(({ id: skuId, stock, limitPerBuyer, priceCents, policy: { overbook, holdSeconds } }) => ({
        ...{ skuId, stock, limitPerBuyer, priceCents, overbook, holdSeconds },
      })),
    )
    await this.#setStocks(sale)
  }

  /** A ledger of before a reset has its old stock. */
  async #setStocks(sale: Sale): Promise<void> {
    const { ledger, clock, logger } = this.#parts
    const activityId = sale.activity.id
    for (const [skuId, { stock }] of await ledger.figures(activityId)) {
      const sku = sale.skus.get(skuId)
      if (sku === undefined || sku.stock === stock) continue
      const change = { requestId: `preload:${clock.now()}:${skuId}`, op: 'set', units: sku.stock } as const
      const result = await ledger.restock(activityId, skuId, change)
      logger.info({ activityId, skuId, ...result }, 'stock of an earlier ledger was set')
    }
  }
}
