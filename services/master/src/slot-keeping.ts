/** SlotKeeper's round: publishes the table that the core makes of the heartbeats, and keeps it in the record. */

import type { Db } from '@bigtap/db'
import { SLOTS_KEY, type SlotTableDoc } from '@bigtap/domain'
import type { Clock, Logger } from '@bigtap/kernel'
import type { CatalogPublisher } from './catalog-publisher.ts'
import { SlotKeeper } from './core/slot-keeper.ts'
import type { NodeWatch } from './node-watch.ts'

/** Collaborators. */
export interface SlotKeepingParts {
  readonly db: Pick<Db, 'definitions'>
  readonly publisher: CatalogPublisher
  readonly watch: NodeWatch
  readonly clock: Clock
  readonly logger: Logger
}

/** The table in force. */
export class SlotKeeping {
  table: SlotTableDoc | undefined
  readonly #parts: SlotKeepingParts
  readonly #keeper = new SlotKeeper()
  #storedEpoch = 0

  constructor(parts: SlotKeepingParts) {
    this.#parts = parts
  }

  /** A table of before; that of the higher epoch stands. */
  recall(table: SlotTableDoc | undefined): void {
    if (table !== undefined && table.epoch > (this.table?.epoch ?? 0)) this.table = table
  }

  /** One round, after the heartbeats were read. */
  round(): void {
    const { clock, publisher, watch, logger } = this.#parts
    const nodes = watch.heard().filter(({ role }) => role === 'middle')
    const next = this.#keeper.tick(clock.monotonic(), { table: this.table, nodes })
    if (next === undefined) return
    this.table = next
    const owners = next.nodes.map(({ id }, index) => `${id}=${next.owners.filter((owner) => owner === index).length}`)
    logger.info({ epoch: next.epoch, owners }, 'slots move')
    publisher.queue([{ key: SLOTS_KEY, body: next }])
  }

  /** Takes a table that is not stored yet to the record; rejects when that is away. */
  async save(): Promise<void> {
    const { table } = this
    if (table === undefined || table.epoch === this.#storedEpoch) return
    await this.#parts.db.definitions.setSetting(SLOTS_KEY, table)
    this.#storedEpoch = table.epoch
  }
}
