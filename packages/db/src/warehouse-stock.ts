import type { Pool } from 'pg'
import { guarded } from './errors.ts'
import { toNumber } from './numbers.ts'

/** What the warehouse has of a SKU; `version` counts its changes. */
export interface WarehouseRow {
  readonly activityId: number
  readonly skuId: number
  readonly units: number
  readonly version: number
}

/** What became of the units. With `units`: these are to be the warehouse's, if it is still at `version` (0: it has no row). */
export interface WarehouseReport {
  readonly activityId: number
  readonly skuId: number
  readonly version: number
  readonly units?: number
  readonly free: number
  readonly held: number
  readonly sold: number
}

/** The table `warehouse_stock`: others change `units`, the sale follows and reports back. */
export interface WarehouseStock {
  /** Rows of these activities. */
  list(activityIds: readonly number[]): Promise<WarehouseRow[]>
  /** Stores reports in one statement; returns the rows as they stand then. */
  report(reports: readonly WarehouseReport[]): Promise<WarehouseRow[]>
}

const LIST = `
SELECT activity_id AS "activityId", sku_id AS "skuId", units, version FROM warehouse_stock WHERE activity_id = ANY($1)`

// A row that is not there is made by a report with units; one that has moved on keeps its units.
const REPORT = `
INSERT INTO warehouse_stock AS stored (activity_id, sku_id, units, version, free, held, sold, reported_at)
SELECT "activityId", "skuId", units, 1, free, held, sold, $2 FROM json_to_recordset($1::json)
  AS given("activityId" int, "skuId" int, "units" int, "version" bigint, "free" int, "held" int, "sold" int)
  WHERE units IS NOT NULL AND version = 0
ON CONFLICT (activity_id, sku_id) DO NOTHING
RETURNING activity_id AS "activityId", sku_id AS "skuId", units, version`
const UPDATE = `
UPDATE warehouse_stock AS stored SET free = given.free, held = given.held, sold = given.sold, reported_at = $2,
  units = CASE WHEN given.units IS NOT NULL AND given.version = stored.version THEN given.units ELSE stored.units END
FROM json_to_recordset($1::json)
  AS given("activityId" int, "skuId" int, "units" int, "version" bigint, "free" int, "held" int, "sold" int)
WHERE stored.activity_id = given."activityId" AND stored.sku_id = given."skuId" AND given.version > 0
RETURNING stored.activity_id AS "activityId", stored.sku_id AS "skuId", stored.units, stored.version`

/** The repository of the warehouse's stock. */
export function createWarehouseStock(pool: Pool, now: () => number): WarehouseStock {
  const run = async (what: string, text: string, values: unknown[]): Promise<WarehouseRow[]> => {
    const { rows } = await guarded(what, () => pool.query<WarehouseRow>(text, values))
    return rows.map((row) => ({ ...row, version: toNumber(row.version) }))
  }
  return {
    list: (activityIds) => run('reading the warehouse', LIST, [activityIds]),
    async report(reports) {
      if (reports.length === 0) return []
      const values = [JSON.stringify(reports), now()]
      const hasNew = reports.some(({ version }) => version === 0)
      const made = hasNew ? await run('entering at the warehouse', REPORT, values) : []
      return [...made, ...(await run('reporting to the warehouse', UPDATE, values))]
    },
  }
}
