/**
 * StockKeeper: keeps the warehouse's units and the ledger's stock the same, from both sides.
 *
 * ```
 *   warehouse units (version) ──changed──► restock, once per version ──► ledger stock
 *   ledger stock ──changed by an operator──► report with units, onto the version they were made from ──► warehouse
 *   ledger free, held, sold ──changed, at most once a second──► report
 * ```
 * `base` is the warehouse's row when both were the same last. Both may move at once: the ledger takes the difference of the
 * warehouse's row to its base, then the warehouse takes the ledger's stock. Without a base (a new leader, or a report of which
 * nothing was heard) the warehouse's word stands, unless its version was obeyed before: the request id says so.
 * Never below what is held, sold or given out: then the stock goes as low as it may, the rest is tried again, and it is said.
 */

/** A row of the warehouse. */
export interface WarehouseFact {
  readonly activityId: number
  readonly skuId: number
  readonly units: number
  readonly version: number
}

/** What the ledger says of a SKU. `given`: places that were leased, granted or used, in places of `overbook` a unit. */
export interface LedgerFact {
  readonly activityId: number
  readonly skuId: number
  readonly stock: number
  readonly free: number
  readonly held: number
  readonly sold: number
  readonly given: number
  readonly overbook: number
}

/** What is to be done. `isWhole` says that the restock obeys all of `row`. */
export type StockCommand =
  | {
      readonly type: 'restock'
      readonly row: WarehouseFact
      readonly requestId: string
      readonly op: 'add' | 'remove' | 'set'
      readonly units: number
      readonly isWhole: boolean
      /** By how much the stock changes. */
      readonly change: number
    }
  | { readonly type: 'report'; readonly report: StockReport }
  | { readonly type: 'short'; readonly activityId: number; readonly skuId: number; readonly units: number }

/** What the warehouse is told. With `units`: these are to be its units, if it is still at `version` (0: it has no row). */
export interface StockReport extends Pick<LedgerFact, 'activityId' | 'skuId' | 'free' | 'held' | 'sold'> {
  readonly version: number
  readonly units?: number
}

/** What became of a restock. */
export type RestockOutcome = 'done' | 'repeated' | 'unknown' | 'refused'

interface Known {
  base: WarehouseFact | undefined
  /** The version whose request id was found used: what differs since was changed by an operator. */
  obeyed: number
  reportedAt: number
  said: string
}

const REPORT_EVERY_MS = 1_000

/** The keeper of all SKUs that have a ledger. Its caller does the commands in order and says what became of them. */
export class StockKeeper {
  readonly #known = new Map<string, Known>()

  /** One look; SKUs that are not in `ledgers` are forgotten. */
  tick(now: number, { rows, ledgers }: { rows: readonly WarehouseFact[]; ledgers: readonly LedgerFact[] }) {
    const byName = new Map(rows.map((row) => [nameOf(row), row]))
    const names = new Set(ledgers.map(nameOf))
    for (const name of this.#known.keys()) if (!names.has(name)) this.#known.delete(name)
    return ledgers.flatMap((ledger) => this.#step(now, ledger, byName.get(nameOf(ledger))))
  }

  /** A restock was answered; undefined when nothing was heard of it: its id makes a repeat harmless, a part has none. */
  onRestocked(
    { row, isWhole, change }: Extract<StockCommand, { type: 'restock' }>,
    outcome: RestockOutcome | undefined,
  ): void {
    const known = this.#known.get(nameOf(row))
    if (known === undefined) return
    if (outcome === undefined && !isWhole) known.base = undefined
    if (outcome !== 'done' && outcome !== 'repeated') return
    if (isWhole) {
      known.base = row
      known.obeyed = row.version
    } else if (known.base !== undefined && outcome === 'done') {
      known.base = { ...known.base, units: known.base.units + change }
    }
  }

  /** A report was answered with the row that stands since; undefined when nothing was heard of it. */
  onReported(report: StockReport, row: WarehouseFact | undefined): void {
    const known = this.#known.get(nameOf(report))
    if (known === undefined) return
    if (row === undefined) {
      if (report.units !== undefined) known.base = undefined
      known.said = ''
    } else if (report.units !== undefined) {
      const next = nextOf(report.version)
      if (row.version === next && row.units === report.units) known.base = row
      // It was changed again before we heard of it: whether ours was taken is not known.
      else if (row.version > next) known.base = undefined
    }
  }

  #step(now: number, ledger: LedgerFact, row: WarehouseFact | undefined): StockCommand[] {
    const name = nameOf(ledger)
    const known = this.#known.get(name) ?? {
      base: undefined,
      obeyed: -1,
      reportedAt: Number.NEGATIVE_INFINITY,
      said: '',
    }
    this.#known.set(name, known)
    if (row === undefined) return this.#report(now, known, ledger, 0, ledger.stock)
    if (row.units === ledger.stock && !hasBothChanged(ledger, row, known.base)) known.base = row
    else if (known.base?.version === row.version || known.obeyed === row.version)
      return this.#report(now, known, ledger, row.version, ledger.stock)
    else return restockOf(now, ledger, row, known.base)
    return this.#report(now, known, ledger, row.version)
  }

  #report(now: number, known: Known, ledger: LedgerFact, version: number, units?: number): StockCommand[] {
    const { activityId, skuId, free, held, sold } = ledger
    const said = `${version} ${units} ${free} ${held} ${sold}`
    // A clock that was set back must not silence a SKU.
    const isTooSoon = units === undefined && Math.abs(now - known.reportedAt) < REPORT_EVERY_MS
    if (isTooSoon || (units === undefined && known.said === said)) return []
    known.said = said
    known.reportedAt = now
    const report = { activityId, skuId, version, free, held, sold }
    return [{ type: 'report', report: units === undefined ? report : { ...report, units } }]
  }
}

/** Both by the same number of units: equal by chance, and each change counts. */
function hasBothChanged({ stock }: LedgerFact, row: WarehouseFact, base: WarehouseFact | undefined): boolean {
  return base !== undefined && base.version !== row.version && base.units !== stock
}

function restockOf(
  now: number,
  ledger: LedgerFact,
  row: WarehouseFact,
  base: WarehouseFact | undefined,
): StockCommand[] {
  const { activityId, skuId, stock } = ledger
  const target = base === undefined ? row.units : Math.max(0, stock + row.units - base.units)
  const least = leastStock(ledger)
  const requestId = `warehouse:${skuId}:${row.version}`
  if (target < least) {
    const short: StockCommand = { type: 'short', activityId, skuId, units: least - target }
    if (least >= stock) return [short]
    const part = { op: 'set', units: least, isWhole: false, change: least - stock } as const
    return [{ type: 'restock', row, requestId: `${requestId}:part:${now}`, ...part }, short]
  }
  const change = target - stock
  const how =
    base === undefined
      ? ({ op: 'set', units: target } as const)
      : { op: change < 0 ? ('remove' as const) : ('add' as const), units: Math.abs(change) }
  return [{ type: 'restock', row, requestId, ...how, isWhole: true, change }]
}

/** No unit that is held or sold goes, and no place that was given out. */
function leastStock({ held, sold, given, overbook }: LedgerFact): number {
  return Math.max(held + sold, Math.ceil(given / overbook - 1e-9))
}

function nextOf(version: number): number {
  return version + 1
}

function nameOf({ activityId, skuId }: { activityId: number; skuId: number }): string {
  return `${activityId}:${skuId}`
}
