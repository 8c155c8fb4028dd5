/** What master may call for, beside documents. */

import type { CallHandler } from '@bigtap/catalog'
import { Fields } from '@bigtap/domain'
import { CodedError, type Logger } from '@bigtap/kernel'
import type { MiddleNode } from './middle-node.ts'

/**
 * `clear-records { activityId, uid? }`: forgets the purchase records of one buyer, or of all, and reads them again from the
 * grants' log. Until they are read asks of these slots are answered `moving`. It lets nobody exceed the rule: what was granted
 * is in the log, and the counter checks the rule last. A call with other arguments throws BAD_CALL.
 */
export function createCallHandler(node: () => Pick<MiddleNode, 'clearRecords'>, logger: Logger): CallHandler {
  return (name, args) => {
    if (name !== 'clear-records') return
    const fields = new Fields(args)
    const activityId = fields.id('activityId')
    const uid = fields.raw('uid') === undefined ? undefined : fields.id('uid')
    if (fields.errors.length > 0)
      throw new CodedError({ code: 'BAD_CALL', message: `call ${name}: ${fields.errors.join('; ')}` })
    const cleared = node().clearRecords(activityId, uid)
    logger.warn({ activityId, isOneBuyer: uid !== undefined, cleared }, 'purchase records are forgotten and read again')
  }
}
