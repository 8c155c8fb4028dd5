/**
 * ActKeeper: takes a sale from `scheduled` to `closed` without a person.
 *
 * ```
 * scheduled ─ preloadMs before opening ─► preloading ─ ledger, catalog, every live node ─► armed ─ opensAt ─► open
 *                                             └ not in time: alarm, and the opening is held        closesAt ─► closed
 * ```
 */

import type { ActivityEvent, ActivityState } from '@bigtap/domain'

/** Times of the keeper, ms. */
export interface ActSettings {
  readonly preloadMs: number
}

/** What is known of one sale. `revision` is that of its newest documents, 0 while they are not published. */
export interface SaleFact {
  readonly activityId: number
  readonly state: ActivityState
  readonly opensAt: number
  readonly closesAt: number
  readonly revision: number
  readonly hasLedger: boolean
  /** Since when it is in its state, ms. */
  readonly since: number
}

/** What a node says of itself. */
export interface NodeFact {
  readonly id: string
  readonly role: string
  readonly revision: number
  readonly isLive: boolean
}

/** What is to be done. */
export type ActCommand =
  | { readonly type: 'step'; readonly activityId: number; readonly event: ActivityEvent }
  | { readonly type: 'open-ledger'; readonly activityId: number }
  | { readonly type: 'alarm'; readonly activityId: number; readonly waitingFor: readonly string[] }

/** Nodes whose word counts: without them nobody sells. */
const ACKING_ROLES: readonly string[] = ['limiter', 'middle']
/** What is not there this long before the opening raises an alarm (3-sale-model), but not before it had its time. */
const ALARM_LEAD_MS = 5_000
const PRELOAD_GRACE_MS = 3_000
const CLOSING: readonly ActivityState[] = ['scheduled', 'preloading', 'armed', 'open', 'paused']

/** One look at all sales. */
export function actTick(
  now: number,
  { sales, nodes }: { sales: readonly SaleFact[]; nodes: readonly NodeFact[] },
  settings: ActSettings,
): ActCommand[] {
  return sales.flatMap((sale) => stepSale(now, sale, nodes, settings))
}

/** What keeps a preloading sale from being armed; empty when nothing does. */
export function waitingFor(sale: SaleFact, nodes: readonly NodeFact[]): string[] {
  const missing = sale.hasLedger ? [] : ['ledger']
  if (sale.revision === 0) return [...missing, 'catalog']
  return [...missing, ...nodes.filter((node) => isLive(node) && node.revision < sale.revision).map(({ id }) => id)]
}

/** Is this a node that must know of a sale before it is armed? */
export function isLive(node: NodeFact): boolean {
  return ACKING_ROLES.includes(node.role) && node.isLive
}

function stepSale(now: number, sale: SaleFact, nodes: readonly NodeFact[], settings: ActSettings): ActCommand[] {
  const { activityId, state, opensAt, closesAt } = sale
  const step = (event: ActivityEvent): ActCommand[] => [{ type: 'step', activityId, event }]
  if (now >= closesAt && CLOSING.includes(state)) return step('close')
  if (state === 'scheduled') return now >= opensAt - settings.preloadMs ? step('preload') : []
  if (state === 'armed') return now >= opensAt ? step('open') : []
  if (state !== 'preloading') return []
  const missing = waitingFor(sale, nodes)
  if (missing.length === 0) return step('arm')
  const commands: ActCommand[] = sale.hasLedger ? [] : [{ type: 'open-ledger', activityId }]
  const isLate = now >= Math.max(opensAt - ALARM_LEAD_MS, sale.since + PRELOAD_GRACE_MS)
  return isLate ? [...commands, { type: 'alarm', activityId, waitingFor: missing }] : commands
}
