/** StockKeeper's round: reads the warehouse and the ledgers, does what the core says, and tells it what became of it. */

import type { AuditEntry } from '@bigtap/db'
import { type Figures, skuKey } from '@bigtap/domain'
import type { Clock, Logger } from '@bigtap/kernel'
import type { Ledger } from '@bigtap/store'
import type { Book, Sale } from './book.ts'
import type { Alarms } from './core/alarms.ts'
import { LIVE_STATES } from './core/change-rules.ts'
import { type LedgerFact, type StockCommand, StockKeeper } from './core/stock-keeper.ts'
import type { Warehouse, WarehouseReport } from './warehouse.ts'

/** Collaborators. */
export interface StockKeepingParts {
  readonly warehouse: Warehouse
  readonly book: Book
  readonly ledger: Pick<Ledger, 'restock'>
  readonly alarms: Alarms
  readonly clock: Clock
  readonly logger: Logger
  /** Figures of a sale whose ledger is verified; undefined while it is in doubt. Rejects when Redis is away. */
  figures(activityId: number): Promise<ReadonlyMap<number, Figures> | undefined>
  /** The stock of SKUs has changed in the ledger. */
  changed(sale: Sale, skuIds: readonly number[]): void
  audit(entry: AuditEntry): void
}

const WAREHOUSE_ALARM = 'warehouse'

/** Keeps warehouse and ledgers the same. */
export class StockKeeping {
  readonly #parts: StockKeepingParts
  readonly #keeper = new StockKeeper()
  readonly #short = new Set<string>()

  constructor(parts: StockKeepingParts) {
    this.#parts = parts
  }

  /** How often a round is due, ms. */
  get everyMs(): number {
    return this.#parts.warehouse.pollMs
  }

  /** One round; rejects when the warehouse or Redis is away, and goes on from there the next time. */
  async round(): Promise<void> {
    const { book, warehouse, clock } = this.#parts
    const sales = book.in(LIVE_STATES).filter(({ hasLedger }) => hasLedger)
    if (sales.length === 0) return
    const rows = await this.#watched(warehouse.list(sales.map(({ activity }) => activity.id)))
    const ledgers = (await Promise.all(sales.map((sale) => this.#ledgersOf(sale)))).flat()
    const commands = this.#keeper.tick(clock.now(), { rows, ledgers })
    this.#sayShort(commands)
    for (const command of commands) if (command.type === 'restock') await this.#restock(command)
    await this.#report(commands.flatMap((command) => (command.type === 'report' ? [command.report] : [])))
  }

  async #ledgersOf(sale: Sale): Promise<LedgerFact[]> {
    const activityId = sale.activity.id
    const figures = (await this.#parts.figures(activityId)) ?? new Map<number, Figures>()
    return [...figures].flatMap(([skuId, { stock, free, held, sold, quota, pool }]) => {
      const sku = sale.skus.get(skuId)
      if (sku === undefined) return []
      return [{ activityId, skuId, stock, free, held, sold, given: quota - pool, overbook: sku.policy.overbook }]
    })
  }

  async #restock(command: Extract<StockCommand, { type: 'restock' }>): Promise<void> {
    const { book, ledger, logger, changed, audit } = this.#parts
    const { requestId, op, units, row } = command
    const { activityId, skuId } = row
    const { outcome, stock } = await ledger
      .restock(activityId, skuId, { requestId, op, units })
      .catch((error: unknown) => {
        this.#keeper.onRestocked(command, undefined)
        throw error
      })
    this.#keeper.onRestocked(command, outcome)
    const sale = book.get(activityId)
    const sku = sale?.skus.get(skuId)
    if (outcome !== 'done' || sale === undefined || sku === undefined) return
    logger.info({ activityId, skuId, from: sku.stock, to: stock, version: row.version }, 'stock follows the warehouse')
    sale.skus.set(skuId, { ...sku, stock })
    sale.unsavedStocks.add(skuId)
    audit({
      ...{ actor: 'stock-keeper', role: 'service', action: 'stock.warehouse', subject: skuKey(activityId, skuId) },
      ...{ before: { stock: sku.stock }, after: { stock, warehouse: { units: row.units, version: row.version } } },
    })
    changed(sale, [skuId])
  }

  async #report(reports: readonly WarehouseReport[]): Promise<void> {
    if (reports.length === 0) return
    const { warehouse } = this.#parts
    const rows = await this.#watched(warehouse.report(reports)).catch((error: unknown) => {
      for (const report of reports) this.#keeper.onReported(report, undefined)
      throw error
    })
    const rowOf = ({ activityId, skuId }: WarehouseReport) =>
      rows.find((row) => row.activityId === activityId && row.skuId === skuId)
    for (const report of reports) this.#keeper.onReported(report, rowOf(report))
  }

  #sayShort(commands: readonly StockCommand[]): void {
    const { alarms, clock } = this.#parts
    const short = commands.flatMap((command) => (command.type === 'short' ? [command] : []))
    const keys = new Set(short.map(({ activityId, skuId }) => `stock-short:${activityId}:${skuId}`))
    for (const key of this.#short) if (!keys.has(key)) alarms.clear(key, clock.now())
    this.#short.clear()
    for (const { activityId, skuId, units } of short) {
      const key = `stock-short:${activityId}:${skuId}`
      this.#short.add(key)
      const message = `the warehouse has ${units} units fewer of SKU ${skuId} than are held, sold or granted`
      alarms.raise({ key, severity: 'critical', message, data: { activityId, skuId, units } }, clock.now())
    }
  }

  async #watched<T>(call: Promise<T>): Promise<T> {
    const { alarms, clock, warehouse } = this.#parts
    try {
      const answer = await call
      alarms.clear(WAREHOUSE_ALARM, clock.now())
      return answer
    } catch (error) {
      const message = `the warehouse (${warehouse.name}) does not answer, the stock stays as it is`
      const data = { error: error instanceof Error ? error.message : String(error) }
      alarms.raise({ key: WAREHOUSE_ALARM, severity: 'warning', message, data }, clock.now())
      throw error
    }
  }
}
