/** Start of master: what is stored is taken into memory; PostgreSQL may be late. */

import { type Db, migrate } from '@bigtap/db'
import { SLOTS_KEY, type SlotTableDoc } from '@bigtap/domain'
import { backoffMs, type Clock, type Logger, type Random } from '@bigtap/kernel'
import type { Book } from './book.ts'
import type { CatalogPublisher } from './catalog-publisher.ts'
import { planSlots, type SlotNode } from './core/slot-plan.ts'
import { REVISION_SETTING } from './record-keeper.ts'

/** Collaborators. */
export interface LoaderParts {
  readonly db: Db
  readonly book: Book
  readonly publisher: CatalogPublisher
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

const PAUSE = { baseMs: 100, maxMs: 2_000 }

/** Loads until it has succeeded or was stopped. */
export class Loader {
  /** The slot table, once it is loaded. */
  slots: SlotTableDoc | undefined
  readonly #settings: { databaseUrl: string; nodes: readonly SlotNode[] }
  readonly #parts: LoaderParts
  #isStopped = false

  constructor(settings: { databaseUrl: string; nodes: readonly SlotNode[] }, parts: LoaderParts) {
    this.#settings = settings
    this.#parts = parts
  }

  get isLoaded(): boolean {
    return this.slots !== undefined
  }

  /** Tries until the database has answered; rejects never. */
  async run(): Promise<void> {
    const { logger, random } = this.#parts
    for (let attempt = 1; !this.#isStopped; attempt++) {
      try {
        const applied = await migrate(this.#settings.databaseUrl)
        if (applied.length > 0) logger.info({ applied }, 'database is up to date')
        return await this.#load()
      } catch (error) {
        logger.warn({ error, attempt }, 'definitions could not be loaded and are tried again')
        const waitMs = backoffMs({ ...PAUSE, attempt, draw: random.next() })
        await new Promise((resolve) => setTimeout(resolve, waitMs))
      }
    }
  }

  stop(): void {
    this.#isStopped = true
  }

  async #load(): Promise<void> {
    const { db, book, publisher, clock } = this.#parts
    const { definitions, orders } = db
    const revision = await definitions.getSetting(REVISION_SETTING)
    if (typeof revision === 'number') publisher.recall(revision)
    for (const row of await definitions.listActivities()) {
      const sale = book.put(row, await definitions.listSkus(row.id), clock.now())
      sale.hasSold = (await orders.maxSeq(row.id)) > 0
      publisher.recall(row.revision)
    }
    const slots = planSlots(await definitions.getSetting(SLOTS_KEY), this.#settings.nodes)
    await definitions.setSetting(SLOTS_KEY, slots)
    this.slots = slots
  }
}
