/**
 * A standby reads now and then what it would load: its connections stand, the client's queries are compiled, the schema is
 * the newest. Cold, the first load took up to 1.5 s of the three that a new leader has.
 */

import { type Db, migrate } from '@bigtap/db'
import { SLOTS_KEY } from '@bigtap/domain'

/** How often, ms: connections are closed after 30 s without use. */
export const REHEARSAL_MS = 10_000

/** Reads, and throws everything away. Rejects when PostgreSQL is away. */
export async function rehearse(databaseUrl: string, db: Db): Promise<void> {
  await migrate(databaseUrl)
  const { definitions, orders, rules } = db
  const [first] = await definitions.listActivities()
  const activityId = first?.id ?? 0
  await Promise.all([
    ...[definitions.listSkus(activityId), orders.maxSeq(activityId)],
    ...[definitions.getSetting(SLOTS_KEY), rules.list()],
  ])
  // A change that no epoch allows: what a leader's changes go through, without one.
  const nobody = db.fencedBy({ epoch: -1, owner: 'rehearsal' })
  await nobody.definitions.setSetting('rehearsal', null).catch(() => undefined)
}
