/** The catalog documents of what is defined. */

import { type ActivityState, activityKey, SLOTS_KEY, type SlotTableDoc, skuKey, statusKey } from '@bigtap/domain'
import type { DocumentChange } from '@bigtap/store'
import type { Sale } from './book.ts'

/** States in which the fronts know of a sale. */
const PUBLISHED: readonly ActivityState[] = ['scheduled', 'preloading', 'armed', 'open', 'paused', 'closed']

/** All documents of one sale; of a draft or an archived one, their removal. */
export function documentsOf(sale: Sale): DocumentChange[] {
  const { activity, skus, statuses } = sale
  const isPublished = PUBLISHED.includes(activity.state)
  const body = <T>(doc: T) => (isPublished ? doc : null)
  return [
    ...[...skus.values()].map((sku) => ({ key: skuKey(activity.id, sku.id), body: body(sku) })),
    ...[...statuses.values()].map((status) => ({ key: statusKey(activity.id, status.skuId), body: body(status) })),
    { key: activityKey(activity.id), body: body(activity) },
  ]
}

/** Everything that the fronts should have. */
export function allDocuments(sales: Iterable<Sale>, slots: SlotTableDoc | undefined): DocumentChange[] {
  const published = [...sales].filter(({ activity }) => PUBLISHED.includes(activity.state)).flatMap(documentsOf)
  return slots === undefined ? published : [{ key: SLOTS_KEY, body: slots }, ...published]
}
