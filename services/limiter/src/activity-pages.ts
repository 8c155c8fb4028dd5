/** What buyers may see of activities: made at most once a second, or when the catalog changes; with an ETag. */

import type { CatalogView } from '@bigtap/catalog'
import type { ActivityDoc } from '@bigtap/domain'
import { hashText } from '@bigtap/kernel'
import { publicState } from './core/gate.ts'
import { jsonReply, makeReply, type Reply } from './core/reply.ts'

/** A page and the weak tag that names its content (without `now` and the revision, which move by themselves). */
interface Page {
  readonly reply: Reply
  readonly unchanged: Reply
  readonly tag: string
  readonly madeAt: number
}

const CACHE_MS = 1_000
const ALL = 0

/** The pages of one process. */
export class ActivityPages {
  readonly #catalog: CatalogView
  readonly #countOf: (activityId: number) => number
  readonly #pages = new Map<number, Page>()

  constructor(catalog: CatalogView, countOf: (activityId: number) => number) {
    this.#catalog = catalog
    this.#countOf = countOf
  }

  /** The catalog has changed. */
  clear(): void {
    this.#pages.clear()
  }

  /** All public activities. */
  list(ifNoneMatch: string, now: number): Reply {
    const page = this.#fresh(ALL, now) ?? this.#keepList(now)
    return page.tag === ifNoneMatch ? page.unchanged : page.reply
  }

  /** One activity; undefined when there is none that is public. */
  one(activityId: number, ifNoneMatch: string, now: number): Reply | undefined {
    const activity = this.#catalog.activity(activityId)
    if (activity === undefined || !isPublic(activity)) return undefined
    const page = this.#fresh(activityId, now) ?? this.#keepOne(activity, now)
    return page.tag === ifNoneMatch ? page.unchanged : page.reply
  }

  #fresh(id: number, now: number): Page | undefined {
    const page = this.#pages.get(id)
    return page !== undefined && now - page.madeAt < CACHE_MS && now >= page.madeAt ? page : undefined
  }

  #keepList(now: number): Page {
    const all = [...this.#catalog.activities().values()].filter((one) => isPublic(one) && one.state !== 'archived')
    const shown = all.map((activity) => this.#shown(activity, now))
    return this.#keep(ALL, shown, { activities: shown.map((one) => this.#stamped(one, now)) }, now)
  }

  #keepOne(activity: ActivityDoc, now: number): Page {
    const shown = this.#shown(activity, now)
    return this.#keep(activity.id, shown, this.#stamped(shown, now), now)
  }

  #stamped(shown: Record<string, unknown>, now: number): Record<string, unknown> {
    return { ...shown, now, revision: this.#catalog.revision }
  }

  #keep(id: number, content: unknown, body: unknown, now: number): Page {
    const tag = `W/"${hashText(JSON.stringify(content)).toString(16)}"`
    const headers = ['cache-control', 'public, max-age=1', 'etag', tag]
    const reply = jsonReply(200, body, headers)
    const unchanged = makeReply({ outcome: 'ok', status: 304, type: 'application/json', body: '', headers })
    const page = { reply, unchanged, tag, madeAt: now }
    this.#pages.set(id, page)
    return page
  }

  #shown(activity: ActivityDoc, now: number): Record<string, unknown> {
    const { id, title, state, opensAt, closesAt, reservation } = activity
    const { mode, fromSeconds } = activity.challenge
    return {
      id,
      title,
      state: state === 'armed' && now >= opensAt && now < closesAt ? 'open' : state,
      opensAt,
      closesAt,
      reservation: { ...reservation, count: this.#countOf(id) },
      challenge: { mode, fromSeconds },
      skus: activity.skuIds.flatMap((skuId) => this.#shownSku(activity, skuId, now)),
    }
  }

  #shownSku(activity: ActivityDoc, skuId: number, now: number): Record<string, unknown>[] {
    const sku = this.#catalog.sku(activity.id, skuId)
    if (sku === undefined) return []
    const status = this.#catalog.status(activity.id, skuId)
    const { id, title, priceCents, currency, imageUrl, limitPerBuyer } = sku
    const state = publicState(activity, sku, status, now)
    return [{ id, title, priceCents, currency, imageUrl, state, soldOut: status?.soldOut ?? false, limitPerBuyer }]
  }
}

function isPublic({ state }: ActivityDoc): boolean {
  return state !== 'draft'
}
