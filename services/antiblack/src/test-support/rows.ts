/** Batches of the request log for tests, from rows in words. */

import { ACCESS_CALL, ACCESS_OUTCOME, AccessColumns, toldFlags } from '@bigtap/protocol'

/** One row; what is not named is usual: a buy request at an address of its own, queued. */
export interface TestRow {
  readonly at: number
  readonly uid?: number
  readonly address?: string
  readonly device?: number
  readonly call?: number
  readonly outcome?: number
  readonly flags?: number
  readonly toldMs?: number
}

/** A batch of these rows; it begins with the earliest of them. */
export function batchOf(rows: readonly TestRow[]): AccessColumns {
  const batch = new AccessColumns(Math.max(1, rows.length))
  batch.at = rows.reduce((least, { at }) => Math.min(least, at), rows[0]?.at ?? 0)
  batch.nodeId = 'limiter-1'
  for (const [row, one] of rows.entries()) {
    const address = one.address ?? `10.1.${((one.uid ?? 0) >> 8) & 255}.${(one.uid ?? 0) & 255}`
    const known = batch.addresses.indexOf(address)
    batch.address[row] = known >= 0 ? known : batch.addresses.push(address) - 1
    batch.afterMs[row] = one.at - batch.at
    batch.uid[row] = one.uid ?? 0
    batch.activityId[row] = 1
    batch.skuId[row] = 1
    batch.call[row] = one.call ?? ACCESS_CALL.buy
    batch.outcome[row] = one.outcome ?? ACCESS_OUTCOME.queued
    batch.flags[row] = (one.flags ?? 0) | toldFlags(one.toldMs ?? 0)
    batch.device[row] = one.device ?? 0
    batch.rows++
  }
  return batch
}
