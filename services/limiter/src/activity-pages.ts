/** What buyers may see of activities: made at most once a second, or when the catalog changes; with an ETag. */

import type { CatalogView } from '@bigtap/catalog'
import { type ActivityDoc, callsAtOf, hasLine, isSeedShown, type LineView } from '@bigtap/domain'
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
const NO_LINE: LineView = { cursor: 0, joined: 0, waiting: 0, perSecond: 0 }
/** States in which a sale is open, or has been: by its time a draw is over then. */
const HAS_OPENED: readonly ActivityDoc['state'][] = ['armed', 'open', 'paused', 'closed']

/** The pages of one process. */
export class ActivityPages {
  readonly #catalog: CatalogView
  readonly #countOf: (activityId: number) => number
  readonly #pages = new Map<number, Page>()
  /** Pages of lines, by `queue:activity:sku`; only of what exists. */
  readonly #lines = new Map<string, Page>()

  constructor(catalog: CatalogView, countOf: (activityId: number) => number) {
    this.#catalog = catalog
    this.#countOf = countOf
  }

  /** The catalog has changed. */
  clear(): void {
    this.#pages.clear()
    this.#lines.clear()
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

  /** How the line of a SKU moves; undefined where it has none. */
  queue(activityId: number, skuId: number, now: number): Reply | undefined {
    return this.#line(`queue:${activityId}:${skuId}`, activityId, skuId, now, (activity, line) => {
      if (!hasLine(activity)) return undefined
      const { cursor, joined, waiting, perSecond } = line
      const etaMsPer100 = perSecond > 0 ? Math.round(100_000 / perSecond) : undefined
      return {
        admission: activity.admission,
        callsAt: callsAtOf(activity),
        cursor,
        joined,
        waiting,
        perSecond,
        etaMsPer100,
      }
    })
  }

  /** What there is to check of a draw, its seed only once it is over; undefined where nothing is drawn. */
  draw(activityId: number, skuId: number, now: number): Reply | undefined {
    return this.#line(`draw:${activityId}:${skuId}`, activityId, skuId, now, (activity, { joined }) =>
      activity.admission === 'draw' ? { ...this.#drawOf(activity, now), joined } : undefined,
    )
  }

  #line(
    key: string,
    activityId: number,
    skuId: number,
    now: number,
    show: (activity: ActivityDoc, line: LineView) => Record<string, unknown> | undefined,
  ): Reply | undefined {
    const kept = freshOf(this.#lines.get(key), now)
    if (kept !== undefined) return kept.reply
    const activity = this.#catalog.activity(activityId)
    if (activity === undefined || !isPublic(activity) || !activity.skuIds.includes(skuId)) return undefined
    const content = show(activity, this.#catalog.status(activityId, skuId)?.line ?? NO_LINE)
    if (content === undefined) return undefined
    const page = pageOf(content, { ...content, now }, now)
    this.#lines.set(key, page)
    return page.reply
  }

  #drawOf(activity: ActivityDoc, now: number): Record<string, unknown> {
    const { drawCommit: commit, drawSeconds, drawSeed } = activity.waiting
    const shown = isSeedShown(activity, HAS_OPENED.includes(activity.state), now) ? { seed: drawSeed } : {}
    return { commit, drawSeconds, drawnAt: callsAtOf(activity), ...shown }
  }

  #fresh(id: number, now: number): Page | undefined {
    return freshOf(this.#pages.get(id), now)
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
    const page = pageOf(content, body, now)
    this.#pages.set(id, page)
    return page
  }

  #shown(activity: ActivityDoc, now: number): Record<string, unknown> {
    const { id, title, state, opensAt, closesAt, reservation, admission } = activity
    const { hasWaitingList } = activity.waiting
    const { mode, fromSeconds } = activity.challenge
    return {
      id,
      title,
      state: state === 'armed' && now >= opensAt && now < closesAt ? 'open' : state,
      opensAt,
      closesAt,
      reservation: { ...reservation, count: this.#countOf(id) },
      admission,
      hasWaitingList,
      ...(admission === 'draw' ? { draw: this.#drawOf(activity, now) } : {}),
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

function freshOf(page: Page | undefined, now: number): Page | undefined {
  return page !== undefined && now - page.madeAt < CACHE_MS && now >= page.madeAt ? page : undefined
}

function pageOf(content: unknown, body: unknown, now: number): Page {
  const tag = `W/"${hashText(JSON.stringify(content)).toString(16)}"`
  const headers = ['cache-control', 'public, max-age=1', 'etag', tag]
  const reply = jsonReply(200, body, headers)
  const unchanged = makeReply({ outcome: 'ok', status: 304, type: 'application/json', body: '', headers })
  return { reply, unchanged, tag, madeAt: now }
}
