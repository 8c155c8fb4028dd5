import { type LedgerCall, VERB, type Verb } from '@bigtap/protocol'

/** Calls of one activity and one verb: what one script can do in one step. */
export interface Gathered<T> {
  readonly activityId: number
  readonly verb: Verb
  readonly items: T[]
}

/** Why a call cannot be done at all; undefined when it can. */
export function faultOf(call: LedgerCall): string | undefined {
  if (call.activityId < 1) return `activity ${call.activityId}`
  if (call.verb !== VERB.reserve) return /^o[0-9a-f]{32}$/.test(call.orderId) ? undefined : `order id ${call.orderId}`
  if (!/^[0-9a-f]{32}$/.test(call.tokenId)) return `token id of ${call.tokenId.length} characters`
  if (call.uid < 1 || call.skuId < 1) return `sku ${call.skuId}`
  return call.quantity >= 1 && call.quantity <= 1_000 ? undefined : `quantity ${call.quantity}`
}

/** The key under which calls are gathered. */
export function groupKey(call: LedgerCall): number {
  return call.activityId * 4 + call.verb
}
