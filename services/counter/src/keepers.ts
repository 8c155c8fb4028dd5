/** The loops that one counter process runs for all: what ran out is given back, outboxes are carried to the event log. */

import type { EventLog } from '@bigtap/eventlog'
import type { Logger } from '@bigtap/kernel'
import { GrantOutbox, type Ledger, type LedgerOrder, NameLease, type Store } from '@bigtap/store'
import { GrantRelay } from './grant-relay.ts'
import { Keeper } from './keeper.ts'
import { createRelay } from './outbox-relay.ts'

/** How often, and as whom. */
export interface KeepersSettings {
  readonly nodeId: string
  readonly sweepMs: number
  readonly relayMs: number
}

/** Collaborators. */
export interface KeepersParts {
  readonly store: Store
  readonly ledger: Ledger
  readonly eventLog: Pick<EventLog, 'producer'>
  readonly logger: Logger
  activities(): Iterable<{ id: number; state: string }>
  currencyOf(activityId: number, skuId: number): string
  onOrder(activityId: number, order: LedgerOrder): void
}

const LEASE_MS = 1_000
const SWEEP_MAX = 500

/** Makes the loops: parts of the service, and the relay of the release log with its count. */
export function createKeepers({ nodeId, sweepMs, relayMs }: KeepersSettings, parts: KeepersParts) {
  const { store, ledger, eventLog, logger, activities } = parts
  const keeper = (name: string, everyMs: number, work: (activityId: number) => Promise<boolean>) => {
    const lease = new NameLease(store, { name, owner: nodeId, ttlMs: LEASE_MS })
    return new Keeper({ name, everyMs }, { lease, logger, activities, work })
  }
  const relay = createRelay({ ...parts, topic: eventLog.producer() })
  const grants = new GrantRelay({ outbox: new GrantOutbox(store), producer: eventLog.producer() })
  const keepers = [
    keeper('sweep', sweepMs, async (id) => (await ledger.sweep(id, SWEEP_MAX)).isMore),
    keeper('relay', relayMs, relay),
    keeper('grant-relay', relayMs, (id) => grants.round(id)),
  ]
  const loops = keepers.map((one) => ({ name: one.name, start: () => one.start(), stop: () => one.stop() }))
  return { grants, loops }
}
