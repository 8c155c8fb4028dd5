/** The warehouse as a port: PostgreSQL's table or an HTTP endpoint; the setting BIGTAP_WAREHOUSE chooses. */

import type { WarehouseReport, WarehouseRow, WarehouseStock } from '@bigtap/db'
import { CodedError } from '@bigtap/kernel'
import { createHttpWarehouse } from './warehouse-http.ts'

/** A warehouse. Calls reject when it is away; `report` answers with the rows that it heard of, as they stand then. */
export interface Warehouse extends WarehouseStock {
  readonly name: string
  readonly pollMs: number
}

export type { WarehouseReport, WarehouseRow }

/** Which warehouse, and the secret of an HTTP one. */
export interface WarehouseSettings {
  /** `postgres`, `off`, or an http(s) address. */
  readonly warehouse: string
  readonly warehouseToken: string | undefined
}

const POLL_MS = { postgres: 250, http: 1_000 } as const

/** The warehouse that is set; undefined when it is off. Throws a CodedError BAD_WAREHOUSE. */
export function openWarehouse(
  { warehouse, warehouseToken }: WarehouseSettings,
  { stock }: { stock: WarehouseStock },
): Warehouse | undefined {
  if (warehouse === 'off') return undefined
  if (warehouse === 'postgres') return { ...stock, name: 'postgres', pollMs: POLL_MS.postgres }
  const url = URL.canParse(warehouse) ? new URL(warehouse) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    const message = 'BIGTAP_WAREHOUSE must be postgres, off, or an http(s) address without a password in it'
    throw new CodedError({ code: 'BAD_WAREHOUSE', message })
  }
  return { ...createHttpWarehouse({ url, token: warehouseToken }), name: url.host, pollMs: POLL_MS.http }
}
