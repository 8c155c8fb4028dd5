/** ShareKeeper's round: who lives and how much each limiter is asked, and publishes the shares of the budgets. */

import { type ActivityDoc, type ActivityState, SHARES_KEY, type SharesDoc } from '@bigtap/domain'
import type { Clock, Logger } from '@bigtap/kernel'
import type { DocumentChange, Tick } from '@bigtap/store'
import type { Book } from './book.ts'
import type { CatalogPublisher } from './catalog-publisher.ts'
import { type ShareState, startShares, stepShares } from './core/share-keeper.ts'
import type { NodeWatch } from './node-watch.ts'

/** Collaborators. */
export interface ShareKeepingParts {
  readonly watch: Pick<NodeWatch, 'list' | 'hasRead'>
  readonly book: Pick<Book, 'sales'>
  readonly publisher: Pick<CatalogPublisher, 'queue' | 'flush'>
  readonly clock: Clock
  readonly logger: Logger
}

/** States in which limits are at work, or soon are. */
const NEEDED: readonly ActivityState[] = ['preloading', 'armed', 'open', 'paused']
/** Figures that are older say nothing of now: the shares stay as they are. */
const TICK_MS_MAX = 5_000

/** The shares in force. */
export class ShareKeeping {
  readonly #parts: ShareKeepingParts
  #state: ShareState = startShares()
  #rates: ReadonlyMap<string, number> = new Map()
  #heardAt = Number.NEGATIVE_INFINITY

  constructor(parts: ShareKeepingParts) {
    this.#parts = parts
  }

  /** What is published, if anything is. */
  get published(): SharesDoc | undefined {
    return this.#state.published
  }

  /** What was published before this reign. */
  recall(doc: SharesDoc): void {
    this.#state = startShares(doc, this.#parts.clock.now())
  }

  /** The document, once there is one. */
  documents(): DocumentChange[] {
    const { published } = this.#state
    return published === undefined ? [] : [{ key: SHARES_KEY, body: published }]
  }

  /** dcacenter's figures of all nodes. */
  onTick({ nodes }: Pick<Tick, 'nodes'>): void {
    this.#heardAt = this.#parts.clock.monotonic()
    const limiters = nodes.filter(({ role }) => role === 'limiter')
    this.#rates = new Map(limiters.map(({ id, figures }) => [id, figures.askRate ?? 0]))
  }

  /** One round; before it is known who lives nothing changes. */
  async round(): Promise<void> {
    const { watch, book, publisher, clock, logger } = this.#parts
    if (!watch.hasRead) return
    const isHeard = clock.monotonic() - this.#heardAt <= TICK_MS_MAX
    const live = watch.list().filter(({ role, isLive }) => role === 'limiter' && isLive)
    const limiters = live.map(({ id }) => ({ nodeId: id, askRate: isHeard ? this.#rates.get(id) : undefined }))
    const isNeeded = [...book.sales.values()].some(({ activity }) => needsShares(activity))
    const { state, publish } = stepShares(this.#state, clock.now(), { limiters, isNeeded })
    this.#state = state
    if (publish === undefined) return
    logger.debug({ shares: publish.shares.slice(0, 20) }, 'budgets are shared out anew')
    publisher.queue([{ key: SHARES_KEY, body: publish }])
    await publisher.flush()
  }
}

function needsShares({ state, accessLimits }: ActivityDoc): boolean {
  return NEEDED.includes(state) && accessLimits.some(({ scope }) => scope === 'global' || scope === 'sku')
}
