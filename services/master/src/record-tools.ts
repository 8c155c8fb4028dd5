/**
 * Tool of operators: lets Middle forget purchase records, and read them again from the grants' log.
 *
 * It never lets a buyer exceed the rule: the log is the truth, what was granted is in it, and the counter checks the rule last.
 * It is for records that stand in a buyer's way although the ledger knows nothing of them.
 */

import { activityKey, Fields } from '@bigtap/domain'
import { Problem } from './http/edge.ts'
import type { Actor } from './http/session.ts'
import type { RouterLinks } from './router-links.ts'
import { type SaleDesk, unwrap } from './sale-desk.ts'

/** Collaborators. */
export interface RecordToolParts {
  readonly desk: SaleDesk
  readonly links: Pick<RouterLinks, 'call' | 'ready'>
}

/** Name of the call that Middle nodes answer; its arguments are `{ activityId, uid? }`. */
export const CLEAR_RECORDS = 'clear-records'

/** The tools. */
export class RecordTools {
  readonly #parts: RecordToolParts

  constructor(parts: RecordToolParts) {
    this.#parts = parts
  }

  /** Tells every Middle node; which nodes were linked then is in the answer. 503 when no router is. */
  async clear(actor: Actor, input: Readonly<Record<string, unknown>>) {
    const { desk, links } = this.#parts
    const fields = new Fields(input)
    const activityId = fields.id('activityId')
    const uid = input.uid === undefined ? undefined : fields.id('uid')
    unwrap(fields.done({}))
    const sale = desk.sale(activityId)
    if (links.ready === 0) throw new Problem('unavailable', { detail: 'no router is linked' })
    const middles = desk.parts.watch.list().filter(({ role, isLinked }) => role === 'middle' && isLinked)
    const args = uid === undefined ? { activityId } : { activityId, uid }
    // The audit names no whole uid.
    const told = { isOneBuyer: uid !== undefined, nodes: middles.map(({ id }) => id) }
    await desk.parts.db.audit.append({
      ...{ actor: actor.name, role: actor.role, action: 'records.clear', subject: activityKey(sale.activity.id) },
      after: told,
    })
    links.call(CLEAR_RECORDS, args)
    return { activityId, ...told }
  }
}
