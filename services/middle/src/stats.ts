/** What a Middle node tells dcacenter: plain counters, read when it asks. */

import type { Figures } from '@bigtap/domain'
import type { SkuStats, Stats } from '@bigtap/protocol'
import { LEASE_TRUST_MS } from './activity-keeper.ts'
import type { MiddleNode, SkuView } from './middle-node.ts'

/** Where the rest of a node's figures stands. */
export interface MiddleFigures {
  readonly nodeId: string
  readonly now: number
  readonly links: number
  readonly catalog: { readonly revision: number; readonly digest: string; readonly refused: readonly unknown[] }
  readonly process: { readonly cpu: number; readonly rss: number; readonly eventLoopMs: number }
}

/** All figures of a node. */
export function middleStats(node: MiddleNode, { nodeId, now, links, catalog, process }: MiddleFigures): Stats {
  const { decider, desk } = node
  const own = { slots: node.slotCount, records: decider.buyers.used, pending: decider.pending }
  return {
    ...{ nodeId, role: 'middle', at: Math.floor(now), labels: { digest: catalog.digest, state: node.state } },
    figures: {
      ...{ cpu: process.cpu, rss: process.rss, eventLoopMs: process.eventLoopMs, revision: catalog.revision },
      ...{ links, queueDepth: desk.waiting, refused: catalog.refused.length, ...own },
    },
    skus: node.view().map((sku) => skuStats(sku, now)),
  }
}

function skuStats({ activityId, skuId, state, figures, ...sku }: SkuView, now: number): SkuStats {
  const counts = {
    granted: sku.granted,
    middleAsks: sku.asks,
    queued: Math.round(sku.waiting),
    available: sku.available,
  }
  return { activityId, skuId, state, figures: { ...counts, ...(figures && ledgerOf(figures, sku.leaseUntil, now)) } }
}

/** A lease reply carries the ledger's figures, but not its totals since ever. */
function ledgerOf(figures: Figures, leaseUntil: number, now: number): Record<string, number> {
  const { reservedTotal: _reserved, deadTotal: _dead, ...told } = figures
  return { ...told, ledgerAgeMs: Math.max(0, now - (leaseUntil - LEASE_TRUST_MS)) }
}
