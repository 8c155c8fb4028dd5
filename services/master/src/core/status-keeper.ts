/** Status keeper: what the fronts are told of a SKU's ledger, at once on a flip, else at most once a second. */

import type { Figures, LineView, StatusDoc } from '@bigtap/domain'

const QUIET_MS = 1_000

/** Nothing is left and nothing can come back; or nothing is left for now. */
export function flagsOf(figures: Figures): { soldOut: boolean; exhausted: boolean } {
  const { stock, free, held, sold, pool, leased, outstanding } = figures
  const isAllSold = sold >= stock
  const soldOut = isAllSold || (free <= 0 && held <= 0 && outstanding <= 0 && leased <= 0)
  const hasNoPlace = pool + leased <= 0
  return { soldOut, exhausted: !soldOut && ((free <= 0 && held + outstanding > 0) || hasNoPlace) }
}

/** The status to publish now, or undefined when the last one may stand. */
export function nextStatus(
  last: StatusDoc | undefined,
  {
    activityId,
    skuId,
    figures,
    line,
  }: { activityId: number; skuId: number; figures: Figures; line?: LineView | undefined },
  now: number,
): StatusDoc | undefined {
  const { free, held, sold } = figures
  const status: StatusDoc = {
    ...{ activityId, skuId, ...flagsOf(figures), free, held, sold, at: now },
    ...(line === undefined ? {} : { line }),
  }
  if (last === undefined || last.soldOut !== status.soldOut || last.exhausted !== status.exhausted) return status
  const isSameLine = JSON.stringify(last.line) === JSON.stringify(line)
  const isSame = last.free === free && last.held === held && last.sold === sold && isSameLine
  // A clock that was set back must not silence a SKU.
  return isSame || Math.abs(now - last.at) < QUIET_MS ? undefined : status
}
