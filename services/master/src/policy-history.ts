/** The last versions of each SKU's policy. */

import type { Policy } from '@bigtap/domain'
import { DocumentHistory, type HistoryParts, type Version } from './document-history.ts'

/** One version. */
export type PolicyVersion = Version<{ readonly policy: Policy }>

/** Reads and adds versions. */
export class PolicyHistory {
  readonly #history: DocumentHistory<{ readonly policy: Policy }>

  constructor(parts: HistoryParts) {
    this.#history = new DocumentHistory('policy', parts)
  }

  /** Oldest first. */
  list(activityId: number, skuId: number): Promise<PolicyVersion[]> {
    return this.#history.list(`${activityId}:${skuId}`)
  }

  add(activityId: number, skuId: number, policy: Policy, actor: string): Promise<number> {
    return this.#history.add(`${activityId}:${skuId}`, { policy }, actor)
  }
}
