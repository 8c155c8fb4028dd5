/** The last versions of each SKU's policy, kept in the settings table. */

import type { Db } from '@bigtap/db'
import type { Policy } from '@bigtap/domain'
import type { Clock } from '@bigtap/kernel'

/** One version. */
export interface PolicyVersion {
  readonly version: number
  readonly at: number
  readonly actor: string
  readonly policy: Policy
}

/** Versions that are kept of one SKU; the oldest falls. */
export const VERSIONS_MAX = 20

/** Reads and adds versions. */
export class PolicyHistory {
  readonly #db: Db
  readonly #clock: Clock

  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** Oldest first. */
  async list(activityId: number, skuId: number): Promise<PolicyVersion[]> {
    const value = await this.#db.definitions.getSetting(nameOf(activityId, skuId))
    return Array.isArray(value) ? (value as PolicyVersion[]) : []
  }

  async add(activityId: number, skuId: number, policy: Policy, actor: string): Promise<number> {
    const versions = await this.list(activityId, skuId)
    const version = (versions.at(-1)?.version ?? 0) + 1
    const next = [...versions, { version, at: this.#clock.now(), actor, policy }].slice(-VERSIONS_MAX)
    await this.#db.definitions.setSetting(nameOf(activityId, skuId), next)
    return version
  }
}

function nameOf(activityId: number, skuId: number): string {
  return `policy:${activityId}:${skuId}`
}
