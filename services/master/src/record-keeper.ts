/** Brings what runs ahead in memory to PostgreSQL: states, revisions, stocks, audit. While it is away, it waits. */

import type { AuditEntry, Db } from '@bigtap/db'
import { ACTIVITY_STATES } from '@bigtap/domain'
import type { Logger } from '@bigtap/kernel'
import type { Book, Sale } from './book.ts'
import type { CatalogPublisher } from './catalog-publisher.ts'

/** Collaborators. */
export interface RecordParts {
  readonly db: Db
  readonly book: Book
  readonly publisher: CatalogPublisher
  readonly logger: Logger
}

/** Name of the setting that keeps the last catalog revision. */
export const REVISION_SETTING = 'catalog.revision'
/** Audit entries that wait while PostgreSQL is away; the oldest fall, and the log says so. */
export const AUDIT_WAITING_MAX = 1_000

/** Saves each half second what is not saved yet. */
export class RecordKeeper {
  readonly #parts: RecordParts
  readonly #audit: AuditEntry[] = []
  #savedRevision = 0
  #isAuditing = false
  #turn: Promise<unknown> = Promise.resolve()

  constructor(parts: RecordParts) {
    this.#parts = parts
  }

  /** An entry for the audit; it is written with the next round. */
  note(entry: AuditEntry): void {
    if (this.#audit.length >= AUDIT_WAITING_MAX) {
      const dropped = this.#audit.shift()
      this.#parts.logger.error({ dropped }, 'too many audit entries wait for the database, the oldest is only here')
    }
    this.#audit.push(entry)
  }

  /** Runs a write of an activity's state alone: two of them must not pass each other on two connections. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work)
    this.#turn = result.catch(() => undefined) // its caller gets the fault; the next one goes on
    return result
  }

  /** One round; rejects when the database is away, and goes on from there the next time. */
  save(): Promise<void> {
    return this.alone(() => this.#save())
  }

  async #save(): Promise<void> {
    const { db, book, publisher } = this.#parts
    for (const sale of book.sales.values()) await this.#saveSale(sale)
    await this.flushAudit()
    const { lastRevision } = publisher
    if (lastRevision === this.#savedRevision) return
    await db.definitions.setSetting(REVISION_SETTING, lastRevision)
    this.#savedRevision = lastRevision
  }

  /** Writes the audit entries that wait, in order. */
  async flushAudit(): Promise<void> {
    if (this.#isAuditing) return
    this.#isAuditing = true
    try {
      for (let entry = this.#audit.at(0); entry !== undefined; entry = this.#audit.at(0)) {
        await this.#parts.db.audit.append(entry)
        if (this.#audit[0] === entry) this.#audit.shift()
      }
    } finally {
      this.#isAuditing = false
    }
  }

  async #saveSale(sale: Sale): Promise<void> {
    const { definitions } = this.#parts.db
    const { id, state } = sale.activity
    const { revision } = sale
    if (state !== sale.storedState) {
      await definitions.setActivityState(id, ACTIVITY_STATES, state, revision > 0 ? revision : undefined)
      sale.storedState = state
      if (revision > 0) sale.storedRevision = revision
    } else if (revision > 0 && revision !== sale.storedRevision) {
      await definitions.setRevision(id, revision)
      sale.storedRevision = revision
    }
    for (const skuId of sale.unsavedStocks) {
      const stock = sale.skus.get(skuId)?.stock
      if (stock !== undefined) await definitions.patchSku(id, skuId, { stock })
      if (sale.skus.get(skuId)?.stock === stock) sale.unsavedStocks.delete(skuId)
    }
  }
}
