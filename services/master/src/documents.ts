/** The catalog documents of what is defined. */

import { type ActivityState, activityKey, SLOTS_KEY, type SlotTableDoc, skuKey, statusKey } from '@bigtap/domain'
import type { DocumentChange } from '@bigtap/store'
import type { Sale } from './book.ts'

/** States in which the fronts know of a sale. */
const PUBLISHED: readonly ActivityState[] = ['scheduled', 'preloading', 'armed', 'open', 'paused', 'closed']

/** All documents of one sale; of a draft or an archived one, their removal. */
export function documentsOf(sale: Sale): DocumentChange[] {
  const { activity, skus } = sale
  const isPublished = PUBLISHED.includes(activity.state)
  const body = <T>(doc: T) => (isPublished ? doc : null)
  return [
    ...[...skus.values()].map((sku) => ({ key: skuKey(activity.id, sku.id), body: body(sku) })),
    ...statusDocuments(sale, isPublished),
    { key: activityKey(activity.id), body: body(activity) },
  ]
}

/** Everything that the fronts should have. */
export function allDocuments(sales: Iterable<Sale>, slots: SlotTableDoc | undefined): DocumentChange[] {
  const published = [...sales].filter(({ activity }) => PUBLISHED.includes(activity.state)).flatMap(documentsOf)
  return slots === undefined ? published : [{ key: SLOTS_KEY, body: slots }, ...published]
}

/** A status of before a restart is not known here, and yet it must go with its sale. */
function statusDocuments({ activity, skus, statuses }: Sale, isPublished: boolean): DocumentChange[] {
  const key = (skuId: number) => statusKey(activity.id, skuId)
  if (!isPublished) return [...skus.keys()].map((skuId) => ({ key: key(skuId), body: null }))
  return [...statuses.values()].map((status) => ({ key: key(status.skuId), body: status }))
}
