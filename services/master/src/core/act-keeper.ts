/**
 * ActKeeper: takes a sale from `scheduled` to `closed` without a person, its layers from the inside out and back.
 *
 * ```
 * scheduled ─ preloadMs before opening ─► preloading                                     armed ─ opensAt ─► open ⇄ paused
 *    shut ─ ledger, catalog ─► counter ─ counters ack ─► cart ─ carts ack ─► middle ─ Middles and limiters ack ─┘
 *                                └ not in time: alarm, and the opening is held
 * closesAt ─► closed
 *    middle ─ limiters ack ─► cart ─ Middles ack, no token outstanding ─► counter ─ carts ack ─► shut
 * ```
 * The last switch is the limiters': each opens by its own clock at `opensAt`, armed and at stage middle.
 */

import type { ActivityEvent, ActivityStage, ActivityState } from '@bigtap/domain'

/** Times of the keeper, ms. */
export interface ActSettings {
  readonly preloadMs: number
}

/** What is known of one sale. `revision` is that of its newest documents, 0 while they are not published. */
export interface SaleFact {
  readonly activityId: number
  readonly state: ActivityState
  readonly stage: ActivityStage
  readonly opensAt: number
  readonly closesAt: number
  readonly revision: number
  readonly hasLedger: boolean
  /** Tokens that may still come to the cart; undefined while the ledger cannot be read. */
  readonly outstanding: number | undefined
  /** Since when it is in its state, and at its stage, ms. */
  readonly since: number
  readonly stagedAt: number
}

/** What a node has applied. */
export interface NodeFact {
  readonly id: string
  readonly role: string
  readonly revision: number
  readonly isLive: boolean
}

/** What is to be done. */
export type ActCommand =
  | { readonly type: 'step'; readonly activityId: number; readonly event: ActivityEvent }
  | { readonly type: 'stage'; readonly activityId: number; readonly stage: ActivityStage }
  | { readonly type: 'open-ledger'; readonly activityId: number }
  | { readonly type: 'alarm'; readonly activityId: number; readonly waitingFor: readonly string[] }

/** What is not there this long before the opening raises an alarm (3-sale-model), but not before it had its time. */
export const ALARM_LEAD_MS = 5_000
const PRELOAD_GRACE_MS = 3_000
/** Closing waits this long for a layer's acks: its state says closed already, the stage is the second lock. */
export const CLOSE_MS_MAX = 5_000
const CLOSING: readonly ActivityState[] = ['scheduled', 'preloading', 'armed', 'open', 'paused']

interface Step {
  readonly next: ActivityStage | 'armed'
  /** Whose acks are waited for. */
  readonly roles: readonly string[]
}

const OPENING: Readonly<Record<ActivityStage, Step>> = {
  shut: { next: 'counter', roles: [] },
  counter: { next: 'cart', roles: ['counter'] },
  cart: { next: 'middle', roles: ['cart'] },
  middle: { next: 'armed', roles: ['middle', 'limiter'] },
}
const SHUTTING: Readonly<Partial<Record<ActivityStage, { next: ActivityStage; roles: readonly string[] }>>> = {
  middle: { next: 'cart', roles: ['limiter'] },
  cart: { next: 'counter', roles: ['middle'] },
  counter: { next: 'shut', roles: ['cart'] },
}

/** One look at all sales. */
export function actTick(
  now: number,
  { sales, nodes }: { sales: readonly SaleFact[]; nodes: readonly NodeFact[] },
  settings: ActSettings,
): ActCommand[] {
  return sales.flatMap((sale) => stepSale(now, sale, nodes, settings))
}

/** What keeps a preloading sale from its next layer; empty when nothing does. */
export function waitingFor(sale: SaleFact, nodes: readonly NodeFact[]): string[] {
  const missing = sale.hasLedger ? [] : ['ledger']
  if (sale.revision === 0) return [...missing, 'catalog']
  return [...missing, ...behind(sale, nodes, OPENING[sale.stage].roles)]
}

/** The layers that are not open yet, for who wants to arm by hand. */
export function layersLeft({ stage }: Pick<SaleFact, 'stage'>): string[] {
  const layers: string[] = []
  for (let next = OPENING[stage].next; next !== 'armed'; next = OPENING[next].next) layers.push(next)
  return layers
}

function stepSale(now: number, sale: SaleFact, nodes: readonly NodeFact[], settings: ActSettings): ActCommand[] {
  const { activityId, state, opensAt, closesAt } = sale
  const step = (event: ActivityEvent): ActCommand[] => [{ type: 'step', activityId, event }]
  if (now >= closesAt && CLOSING.includes(state)) return step('close')
  if (state === 'scheduled') return now >= opensAt - settings.preloadMs ? step('preload') : []
  if (state === 'preloading') return openLayer(now, sale, nodes)
  if (state === 'armed') return now >= opensAt ? step('open') : []
  return state === 'closed' ? shutLayer(now, sale, nodes) : []
}

function openLayer(now: number, sale: SaleFact, nodes: readonly NodeFact[]): ActCommand[] {
  const { activityId, stage, opensAt, since } = sale
  const missing = waitingFor(sale, nodes)
  const { next } = OPENING[stage]
  if (missing.length === 0)
    return next === 'armed'
      ? [{ type: 'step', activityId, event: 'arm' }]
      : [{ type: 'stage', activityId, stage: next }]
  const commands: ActCommand[] = sale.hasLedger ? [] : [{ type: 'open-ledger', activityId }]
  const isLate = now >= Math.max(opensAt - ALARM_LEAD_MS, since + PRELOAD_GRACE_MS)
  return isLate ? [...commands, { type: 'alarm', activityId, waitingFor: missing }] : commands
}

function shutLayer(now: number, sale: SaleFact, nodes: readonly NodeFact[]): ActCommand[] {
  const { activityId, stage, revision, outstanding, stagedAt } = sale
  const step = SHUTTING[stage]
  if (step === undefined || revision === 0) return []
  if (stage === 'cart' && outstanding !== 0) return [] // who was granted in time may still come to the cart
  const isAcked = behind(sale, nodes, step.roles).length === 0 || now - stagedAt >= CLOSE_MS_MAX
  return isAcked ? [{ type: 'stage', activityId, stage: step.next }] : []
}

/** Live nodes of these roles that do not have the sale's newest documents. */
function behind({ revision }: SaleFact, nodes: readonly NodeFact[], roles: readonly string[]): string[] {
  return nodes
    .filter((node) => node.isLive && roles.includes(node.role) && node.revision < revision)
    .map(({ id }) => id)
}
