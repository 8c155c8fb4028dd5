/**
 * A warehouse behind HTTP.
 *
 * ```
 * GET  url?activityIds=7,8                                     200 { stocks: [{ activityId, skuId, units, version }] }
 * PUT  url  { reports: [{ activityId, skuId, version, units?, free, held, sold }] }    200 { stocks: [ … ] } as they stand then
 * ```
 * `version` counts every change of `units` up by one. A report with `units` asks to take them, if the row is still at
 * `version`; with version 0 to make the row. Both carry `Authorization: Bearer <BIGTAP_WAREHOUSE_TOKEN>` where that is set.
 */

import type { WarehouseReport, WarehouseRow, WarehouseStock } from '@bigtap/db'
import { Fields, type Parsed, STOCK_MAX } from '@bigtap/domain'
import { CodedError } from '@bigtap/kernel'

/** Bounds of a call; an answer beyond them is a fault, and the last stock stays. */
export const WAREHOUSE_LIMITS = { callMsMax: 1_000, bytesMax: 1_048_576, rowsMax: 10_000 } as const

/** The endpoint. Faults are WAREHOUSE_FAILED; they never hold the token. */
export function createHttpWarehouse({ url, token }: { url: URL; token: string | undefined }): WarehouseStock {
  const headers = {
    accept: 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  }
  const call = async (target: URL, init: RequestInit): Promise<WarehouseRow[]> => {
    try {
      const signal = AbortSignal.timeout(WAREHOUSE_LIMITS.callMsMax)
      const answer = await fetch(target, { ...init, redirect: 'error', signal })
      if (answer.status !== 200) throw failed(`status ${answer.status}`)
      return rowsOf(JSON.parse(await textOf(answer)))
    } catch (error) {
      if (error instanceof CodedError) throw error
      throw failed(error instanceof Error ? error.message : String(error), error)
    }
  }
  return {
    list(activityIds: readonly number[]) {
      const target = new URL(url)
      target.searchParams.set('activityIds', activityIds.join(','))
      return call(target, { headers })
    },
    async report(reports: readonly WarehouseReport[]) {
      if (reports.length === 0) return []
      const body = JSON.stringify({ reports })
      return call(url, { method: 'PUT', body, headers: { ...headers, 'content-type': 'application/json' } })
    },
  }
}

async function textOf(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length
    if (bytes > WAREHOUSE_LIMITS.bytesMax) throw failed(`the answer is longer than ${WAREHOUSE_LIMITS.bytesMax} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function rowsOf(value: unknown): WarehouseRow[] {
  const fields = new Fields(value)
  if (fields.raw('stocks') === undefined) fields.errors.push('stocks is missing')
  const rows = fields.list('stocks', WAREHOUSE_LIMITS.rowsMax, readRow)
  const parsed = fields.done(rows)
  if (parsed.ok) return parsed.value
  throw failed(parsed.errors.slice(0, 3).join('; '))
}

function readRow(value: unknown, path: string): Parsed<WarehouseRow> {
  const fields = new Fields(value, path)
  return fields.done({
    activityId: fields.id('activityId'),
    skuId: fields.id('skuId'),
    units: fields.number('units', { min: 0, max: STOCK_MAX }),
    version: fields.id('version'),
  })
}

function failed(why: string, cause?: unknown): CodedError {
  return new CodedError({ code: 'WAREHOUSE_FAILED', message: `the warehouse did not answer well: ${why}`, cause })
}
