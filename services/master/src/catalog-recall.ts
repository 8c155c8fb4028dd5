/** What the catalog knows better than the record: a keeper acts on the catalog first, and PostgreSQL may be behind. */

import { type ActivityState, activityKey, parseActivityDoc, parseStatusDoc, statusKey } from '@bigtap/domain'
import type { PublishedDocument } from '@bigtap/store'
import type { Book, Sale } from './book.ts'

/** How far a sale has come. Operators' steps are stored before they are published, keepers' steps after. */
const RANK: Readonly<Partial<Record<ActivityState, number>>> = {
  ...{ scheduled: 1, preloading: 2, armed: 3, open: 4, paused: 4, closed: 5 },
}

/** Takes states, stages and statuses that were published and not stored. */
export function recallCatalog(book: Book, documents: readonly PublishedDocument[]): void {
  const byKey = new Map(documents.map((document) => [document.key, document]))
  for (const sale of book.sales.values()) {
    recallActivity(sale, byKey.get(activityKey(sale.activity.id)))
    for (const skuId of sale.skus.keys()) {
      const status = parseStatusDoc(byKey.get(statusKey(sale.activity.id, skuId))?.body)
      if (status.ok) sale.statuses.set(skuId, status.value)
    }
  }
}

function recallActivity(sale: Sale, document: PublishedDocument | undefined): void {
  const parsed = parseActivityDoc(document?.body)
  if (!parsed.ok || document === undefined) return
  const { state, stage, opensAt } = parsed.value
  const { activity, storedRevision } = sale
  const isSameSale = opensAt === activity.opensAt // else it was published before a reset
  const isAhead = document.revision > storedRevision && (RANK[state] ?? 0) > (RANK[activity.state] ?? 0)
  if (isSameSale && isAhead && activity.state !== 'draft') sale.activity = { ...activity, state, stage }
  else if (state === activity.state) sale.activity = { ...activity, stage }
}
