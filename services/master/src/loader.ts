/** Start of a reign: takes over the record and loads what is stored into memory; PostgreSQL may be late. */

import { type Db, migrate, type Reigning } from '@bigtap/db'
import { parseSlotTableDoc, SLOTS_KEY, type SlotTableDoc } from '@bigtap/domain'
import { backoffMs, type Clock, type Logger, type Random } from '@bigtap/kernel'
import type { Book } from './book.ts'
import type { CatalogPublisher } from './catalog-publisher.ts'
import { REVISION_SETTING } from './record-keeper.ts'

/** Collaborators. `db` is fenced by the reign's epoch. */
export interface LoaderParts {
  readonly db: Db
  readonly book: Book
  readonly publisher: CatalogPublisher
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

/** What became of loading. `outdated`: the record knows an epoch as high. `late`: another master may have more luck. */
export type Loaded =
  | { readonly outcome: 'loaded'; readonly slots: SlotTableDoc | undefined }
  | { readonly outcome: 'outdated'; readonly newest: number }
  | { readonly outcome: 'late' | 'stopped' }

const PAUSE = { baseMs: 100, maxMs: 1_000 }
/** Then the leadership is given up. */
export const LOAD_MS_MAX = 10_000

/** Loads until it has succeeded, was stopped, or took too long. */
export class Loader {
  readonly #settings: { databaseUrl: string; reigning: Reigning }
  readonly #parts: LoaderParts
  #isStopped = false

  constructor(settings: { databaseUrl: string; reigning: Reigning }, parts: LoaderParts) {
    this.#settings = settings
    this.#parts = parts
  }

  /** Rejects never. */
  async run(): Promise<Loaded> {
    const { logger, random, clock } = this.#parts
    const deadline = clock.monotonic() + LOAD_MS_MAX
    for (let attempt = 1; !this.#isStopped; attempt++) {
      try {
        return await this.#load()
      } catch (error) {
        logger.warn({ error, attempt }, 'definitions could not be loaded and are tried again')
        if (clock.monotonic() > deadline) return { outcome: 'late' }
        const waitMs = backoffMs({ ...PAUSE, attempt, draw: random.next() })
        await new Promise((resolve) => setTimeout(resolve, waitMs))
      }
    }
    return { outcome: 'stopped' }
  }

  stop(): void {
    this.#isStopped = true
  }

  /** Takes over first: what an older leader has stored before is then loaded, and it stores nothing more. */
  async #load(): Promise<Loaded> {
    const { databaseUrl, reigning } = this.#settings
    const { db, book, publisher, clock, logger } = this.#parts
    const applied = await migrate(databaseUrl)
    if (applied.length > 0) logger.info({ applied }, 'database is up to date')
    const newest = await db.lead(reigning)
    if (newest.epoch !== reigning.epoch || newest.owner !== reigning.owner)
      return { outcome: 'outdated', newest: newest.epoch }
    const { definitions, orders } = db
    const revision = await definitions.getSetting(REVISION_SETTING)
    if (typeof revision === 'number') publisher.recall(revision)
    // Side by side, as far as the pool goes: a standby that takes over with a thousand sales has three seconds.
    const rows = await definitions.listActivities()
    const loaded = await Promise.all(
      rows.map(async (row) => ({ row, skus: await definitions.listSkus(row.id), seq: await orders.maxSeq(row.id) })),
    )
    for (const { row, skus, seq } of loaded) {
      book.put(row, skus, clock.now()).hasSold = seq > 0
      publisher.recall(row.revision)
    }
    const slots = parseSlotTableDoc(await definitions.getSetting(SLOTS_KEY))
    return { outcome: 'loaded', slots: slots.ok ? slots.value : undefined }
  }
}
