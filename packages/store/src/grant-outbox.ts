/**
 * The outbox of the release log: what grant-1.lua has written, until it has been carried to the event log. An entry is made in
 * the step that writes the grant, and goes only when the log has it: at least once, in order, per activity.
 */

import { CodedError } from '@bigtap/kernel'
import type { Store } from './connection.ts'
import type { Grant } from './grant-log.ts'
import { rootKey } from './guards.ts'

/** A grant as it was written: by which node, and when, ms since the epoch by Redis' clock. */
export interface WrittenGrant extends Omit<Grant, 'slot'> {
  readonly nodeId: string
  readonly at: number
}

/** What one call has written; `id` is the entry's place. */
export interface GrantEntry {
  readonly id: string
  readonly grants: readonly WrittenGrant[]
}

/** The outboxes of all activities. Faults: STORE_FAILED. */
export class GrantOutbox {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** The oldest entries, at most `max`. */
  async read(activityId: number, max: number): Promise<GrantEntry[]> {
    const entries = await this.#store.redis.xrange(keyOf(activityId), '-', '+', 'COUNT', max).catch(fail)
    return entries.map(([id, [, nodeId = '', , lines = '']]) => ({ id, grants: grantsOf(id, nodeId, lines) }))
  }

  /** Lets an entry and all before it go: they have been carried. */
  async drop(activityId: number, id: string): Promise<void> {
    const [ms = '0', seq = '0'] = id.split('-')
    await this.#store.redis.xtrim(keyOf(activityId), 'MINID', '=', `${ms}-${BigInt(seq) + 1n}`).catch(fail)
  }

  /** Entries that wait. */
  async size(activityId: number): Promise<number> {
    return await this.#store.redis.xlen(keyOf(activityId)).catch(fail)
  }
}

function grantsOf(id: string, nodeId: string, lines: string): WrittenGrant[] {
  const at = Number(id.split('-')[0])
  return lines.split('\n').map((line) => {
    const [tokenId = '', uid, skuId, quantity, expiresAt] = line.split('|')
    const numbers = { uid: Number(uid), skuId: Number(skuId), quantity: Number(quantity), expiresAt: Number(expiresAt) }
    return { tokenId, ...numbers, nodeId, at }
  })
}

function keyOf(activityId: number): string {
  return `${rootKey(activityId)}granted`
}

function fail(cause: unknown): never {
  const message = cause instanceof Error ? cause.message : String(cause)
  throw new CodedError({ code: 'STORE_FAILED', message: `outbox of grants: ${message}`, cause })
}
