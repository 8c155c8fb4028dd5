/** The figures of one SKU's ledger, in units (places for the quota). */
export interface Figures {
  readonly stock: number
  readonly free: number
  readonly held: number
  readonly sold: number
  readonly quota: number
  readonly pool: number
  readonly leased: number
  readonly outstanding: number
  readonly redeemed: number
  /** Orders ever reserved. */
  readonly reservedTotal: number
  /** Tokens that ran out unused. */
  readonly deadTotal: number
}

/** Figures of a SKU that does not exist yet. */
export const NO_FIGURES: Figures = {
  stock: 0,
  free: 0,
  held: 0,
  sold: 0,
  quota: 0,
  pool: 0,
  leased: 0,
  outstanding: 0,
  redeemed: 0,
  reservedTotal: 0,
  deadTotal: 0,
}

/** Invariants 1 and 5 of docs/ARCHITECTURE.md; returns what does not hold, in words. */
export function checkInvariants(figures: Figures): string[] {
  const { stock, free, held, sold, quota, pool, leased, outstanding, redeemed } = figures
  const found: string[] = []
  if (free + held + sold !== stock) found.push(`free ${free} + held ${held} + sold ${sold} is not stock ${stock}`)
  if (pool + leased + outstanding + redeemed !== quota)
    found.push(
      `pool ${pool} + leased ${leased} + outstanding ${outstanding} + redeemed ${redeemed} is not quota ${quota}`,
    )
  for (const [name, value] of Object.entries(figures))
    if (!Number.isSafeInteger(value) || value < 0) found.push(`${name} is ${value}`)
  return found
}
