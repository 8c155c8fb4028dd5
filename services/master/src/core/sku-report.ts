/** The figures of a SKU from both sides, ledger and record, with what does not hold. */

import { checkInvariants, type Figures, NO_FIGURES } from '@bigtap/domain'

/** Orders of a SKU as they are counted in the record. */
export interface OrderCounts {
  readonly orders: number
  readonly paid: number
  readonly expired: number
  readonly cancelled: number
  readonly refundPending: number
  readonly refunded: number
}

/** One row of `GET /admin/v1/invariants`. */
export interface SkuReport extends Figures {
  readonly activityId: number
  readonly skuId: number
  readonly orders: number
  readonly paid: number
  readonly expired: number
  readonly cancelled: number
  readonly refunds: number
  readonly violations: readonly string[]
}

const NO_COUNTS: OrderCounts = { orders: 0, paid: 0, expired: 0, cancelled: 0, refundPending: 0, refunded: 0 }

/** Puts the two sides together. `counts` must have been read before `figures`: orders only follow the ledger. */
export function reportSku(
  name: { activityId: number; skuId: number },
  figures: Figures | undefined,
  counts: OrderCounts = NO_COUNTS,
  mustHaveLedger = false,
): SkuReport {
  const { orders, paid, expired, cancelled, refundPending, refunded } = counts
  const shown = figures ?? NO_FIGURES
  const violations = figures === undefined ? [] : checkInvariants(figures)
  if (figures === undefined && mustHaveLedger) violations.push('the ledger is not there')
  if (figures !== undefined && orders > figures.reservedTotal)
    violations.push(`orders ${orders} are more than the ${figures.reservedTotal} reservations`)
  return { ...name, ...shown, orders, paid, expired, cancelled, refunds: refundPending + refunded, violations }
}
