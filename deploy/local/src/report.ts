/** The report of a sale (2-contracts), composed from four counts that know nothing of each other. Pure. */

import type { CrowdResult } from '@bigtap/crowd/messages'
import type { Invariants, SkuInvariants } from './admin.ts'
import type { StartOptions } from './args.ts'
import type { ProbeResult } from './probe.ts'

/** What the report is made of. `granted` is counted by Middle. */
export interface SaleFacts {
  readonly options: StartOptions
  readonly activityId: number
  readonly crowd: CrowdResult
  readonly invariants: Invariants
  readonly granted: number
  /** Order ids that PostgreSQL knows, of those that the crowd was promised. */
  readonly lostOrders: readonly string[]
  readonly probe: ProbeResult
  readonly machine: string
}

/** The JSON that `--report` writes. Times in ms, ratios 0..1. */
export interface SaleReport {
  readonly ok: boolean
  readonly seed: number
  readonly profile: string
  readonly activityId: number
  readonly buyers: number
  readonly bots: number
  readonly skus: number
  readonly stock: number
  readonly asks: number
  readonly asksPerSecond: number
  readonly granted: number
  readonly carted: number
  readonly orders: number
  readonly paid: number
  readonly expired: number
  readonly cancelled: number
  readonly refunds: number
  readonly held: number
  readonly unsold: number
  readonly oversold: number
  readonly duplicates: number
  readonly lost: number
  readonly violations: string[]
  readonly openLateMs: number
  readonly soldOutAfterMs: number
  readonly soldOutSpreadMs: number
  readonly latencyMs: CrowdResult['latencyMs']
  readonly answers: CrowdResult['answers']
  readonly normalServedRatio: number
  readonly abusiveAdmittedRatio: number
  /** Beside the ratio of all abuse, that of each abusive profile. */
  readonly abusiveAdmittedByProfile: CrowdResult['abusiveAdmittedByProfile']
  readonly wronglyBlocked: number
  readonly profiles: CrowdResult['profiles']
  readonly slowSenders: CrowdResult['slowSenders']
  readonly machine: string
}

/** Composes the report; `ok` only if nothing at all is wrong. */
export function composeReport(facts: SaleFacts): SaleReport {
  const { options, crowd, invariants, probe } = facts
  const sum = (of: (sku: SkuInvariants) => number) => invariants.skus.reduce((total, sku) => total + of(sku), 0)
  const figures = {
    stock: sum((sku) => sku.stock),
    carted: sum((sku) => sku.reservedTotal),
    orders: sum((sku) => sku.orders),
    paid: sum((sku) => sku.paid),
    expired: sum((sku) => sku.expired),
    cancelled: sum((sku) => sku.cancelled),
    refunds: sum((sku) => sku.refunds),
    held: sum((sku) => sku.held),
    unsold: sum((sku) => sku.free),
    oversold: sum((sku) => Math.max(0, sku.held + sku.sold - sku.stock)),
  }
  const duplicates = duplicatesOf(crowd)
  const violations = violationsOf(facts, figures, duplicates)
  return {
    ok: violations.length === 0,
    seed: options.seed,
    profile: options.profile ?? 'plain',
    activityId: facts.activityId,
    buyers: options.buyers,
    bots: crowd.bots,
    skus: options.skus,
    asks: crowd.asks,
    asksPerSecond: crowd.asksPerSecond,
    granted: facts.granted,
    ...figures,
    duplicates,
    lost: facts.lostOrders.length,
    violations,
    ...probe,
    latencyMs: crowd.latencyMs,
    answers: crowd.answers,
    normalServedRatio: crowd.normalServedRatio,
    abusiveAdmittedRatio: crowd.abusiveAdmittedRatio,
    abusiveAdmittedByProfile: crowd.abusiveAdmittedByProfile,
    wronglyBlocked: crowd.wronglyBlocked,
    profiles: crowd.profiles,
    slowSenders: crowd.slowSenders,
    machine: facts.machine,
  }
}

type Figures = Pick<
  SaleReport,
  'stock' | 'carted' | 'orders' | 'paid' | 'expired' | 'cancelled' | 'refunds' | 'held' | 'unsold' | 'oversold'
>

function violationsOf(facts: SaleFacts, figures: Figures, duplicates: number): string[] {
  const { crowd, invariants, options } = facts
  const found = invariants.skus.flatMap((sku) => sku.violations.map((text) => `sku ${sku.skuId}: ${text}`))
  const check = (isGood: boolean, text: string) => {
    if (!isGood) found.push(text)
  }
  const accounted = figures.paid + figures.expired + figures.cancelled + figures.refunds
  check(invariants.ok, 'the platform says that an invariant does not hold')
  check(figures.oversold === 0, `${figures.oversold} units oversold`)
  check(figures.stock === options.stock, `stock is ${figures.stock}, ${options.stock} were put on sale`)
  check(crowd.asks >= facts.granted, `Middle granted ${facts.granted}, the crowd asked ${crowd.asks} times`)
  check(facts.granted >= figures.carted, `the counter took ${figures.carted}, Middle granted ${facts.granted}`)
  check(
    figures.carted === figures.orders,
    `PostgreSQL has ${figures.orders} orders, the counter took ${figures.carted}`,
  )
  check(accounted === figures.orders, `${figures.orders} orders, ${accounted} of them paid, expired or cancelled`)
  check(figures.held === 0, `${figures.held} units are still held`)
  check(crowd.orders.length <= figures.orders, `${crowd.orders.length} orders promised, ${figures.orders} stored`)
  check(duplicates === 0, `${duplicates} duplicate orders`)
  check(facts.lostOrders.length === 0, `${facts.lostOrders.length} promised orders are lost: ${facts.lostOrders[0]}`)
  check(figures.unsold === 0 || crowd.gaveUp === 0, `${figures.unsold} units unsold, ${crowd.gaveUp} buyers gave up`)
  for (const { kind, detail } of crowd.complaints) found.push(`buyer saw ${kind}: ${detail}`)
  return found
}

/** Buyers who were promised two orders for one product: the crowd's rule is one each. */
function duplicatesOf(crowd: CrowdResult): number {
  const seen = new Set<string>()
  let duplicates = 0
  for (const { uid, skuId } of crowd.orders) {
    const key = `${uid}:${skuId}`
    if (seen.has(key)) duplicates++
    seen.add(key)
  }
  return duplicates
}
