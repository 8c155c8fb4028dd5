/** Compares what the ledger says with what PostgreSQL has, per SKU. Pure. */

/** Units and orders of one SKU on both sides. */
export interface SkuSides {
  readonly skuId: number
  readonly ledger: { readonly held: number; readonly sold: number; readonly reservedTotal: number }
  readonly stored: { readonly held: number; readonly paid: number; readonly orders: number }
}

/** A difference. `stored-behind` is normal while the log is being read; `stored-ahead` never is. */
export interface Difference {
  readonly skuId: number
  readonly kind: 'stored-behind' | 'stored-ahead' | 'units-differ'
  readonly detail: string
}

/** Finds the differences. */
export function differencesOf(sides: readonly SkuSides[]): Difference[] {
  return sides.flatMap(({ skuId, ledger, stored }): Difference[] => {
    const missing = ledger.reservedTotal - stored.orders
    if (missing > 0) return [{ skuId, kind: 'stored-behind', detail: `${missing} orders are not stored yet` }]
    if (missing < 0) return [{ skuId, kind: 'stored-ahead', detail: `${-missing} stored orders are not in the ledger` }]
    if (ledger.held === stored.held && ledger.sold === stored.paid) return []
    const detail = `ledger has ${ledger.held} held and ${ledger.sold} sold, PostgreSQL ${stored.held} and ${stored.paid}`
    return [{ skuId, kind: 'units-differ', detail }]
  })
}
