/** First stage: what the catalog says of a product. Cheapest, and refuses most. */

import type { CatalogView } from '@bigtap/catalog'
import { type ActivityDoc, isSelling, type SkuDoc, type StatusDoc } from '@bigtap/domain'
import { problem, retryReply } from './replies.ts'
import { problemReply, type Reply } from './reply.ts'
import { SkuCounts } from './sku-counts.ts'

/** Is the gate open, and if not, why? `unknown` also hides what is not public yet. */
export type GateState = 'open' | 'not-started' | 'sold-out' | 'paused' | 'unknown'

/** A product as the gate sees it, with its prebuilt reply before the opening. */
export interface SkuView {
  readonly activity: ActivityDoc
  readonly sku: SkuDoc
  readonly isSoldOut: boolean
  readonly notStarted: Reply
  /** Where its asks are counted. */
  readonly row: number
}

/**
 * The gate of a product at `now`, ms since the epoch. It opens by the limiter's own clock: nothing has to arrive at that
 * instant.
 */
export function gateOf(view: SkuView | undefined, now: number): GateState {
  if (view === undefined) return 'unknown'
  const { activity, sku } = view
  const { state, opensAt, closesAt } = activity
  if (state === 'draft') return 'unknown'
  if (state === 'closed' || state === 'archived' || now >= closesAt) return 'sold-out'
  if (now < opensAt) return 'not-started'
  if (state === 'paused' || sku.paused) return 'paused'
  if (view.isSoldOut) return 'sold-out'
  return isSelling(activity, now) ? 'open' : 'not-started'
}

/** The reply of a gate that is not open; undefined when it is. `unknown` is the caller's to name. */
export function gateReply(view: SkuView | undefined, now: number, draw: () => number, unknown: Reply) {
  switch (gateOf(view, now)) {
    case 'open':
      return undefined
    case 'not-started':
      return view?.notStarted
    case 'sold-out':
      return problem('sold_out')
    case 'paused':
      return retryReply('paused', draw())
    case 'unknown':
      return unknown
  }
}

/** The views, made when first asked for and forgotten when the catalog changes. */
export class Gate {
  readonly counts = new SkuCounts()
  readonly #catalog: CatalogView
  readonly #views = new Map<number, Map<number, SkuView>>()

  constructor(catalog: CatalogView) {
    this.#catalog = catalog
  }

  view(activityId: number, skuId: number): SkuView | undefined {
    return this.#views.get(activityId)?.get(skuId) ?? this.#make(activityId, skuId)
  }

  /** A request for a product was shed. */
  countShed(activityId: number, skuId: number): void {
    const row = this.view(activityId, skuId)?.row
    if (row !== undefined) this.counts.shed[row] = (this.counts.shed[row] as number) + 1
  }

  /** Documents have changed: their activities' views are made anew. Keys are `kind:activity…`. */
  onChange(keys: readonly string[]): void {
    for (const key of keys) {
      const activityId = Number(key.split(':', 2)[1])
      this.#views.delete(activityId)
      if (this.#catalog.activity(activityId) === undefined) this.counts.forget(activityId)
    }
  }

  /** Only what exists is kept, so that made-up ids take no memory. */
  #make(activityId: number, skuId: number): SkuView | undefined {
    const activity = this.#catalog.activity(activityId)
    const sku = this.#catalog.sku(activityId, skuId)
    if (activity === undefined || sku === undefined || !activity.skuIds.includes(skuId)) return undefined
    const isSoldOut = this.#catalog.status(activityId, skuId)?.soldOut ?? false
    const row = this.counts.rowOf(activityId, skuId)
    const view = { activity, sku, isSoldOut, notStarted: notStartedReply(activity.opensAt), row }
    const views = this.#views.get(activityId) ?? new Map<number, SkuView>()
    this.#views.set(activityId, views)
    views.set(skuId, view)
    return view
  }
}

/** 425 with the opening time. */
export function notStartedReply(opensAt: number): Reply {
  return problemReply('not_started', { opensAt })
}

/** What a buyer is told of a product: the state in the words of the release machine. */
export function publicState(activity: ActivityDoc, sku: SkuDoc, status: StatusDoc | undefined, now: number): string {
  const view = { activity, sku, isSoldOut: status?.soldOut ?? false, notStarted: problem('internal'), row: 0 }
  switch (gateOf(view, now)) {
    case 'open':
      return status?.exhausted ? 'exhausted' : 'releasing'
    case 'not-started':
      return 'ready'
    case 'paused':
      return 'paused'
    case 'sold-out':
      return status?.soldOut ? 'soldOut' : 'ended'
    case 'unknown':
      return 'idle'
  }
}
