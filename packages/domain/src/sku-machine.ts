import type { Policy } from './documents.ts'
import type { Figures } from './figures.ts'

/** The release of a SKU. */
export type SkuState =
  | 'idle'
  | 'ready'
  | 'releasing'
  | 'tapering'
  | 'trickling'
  | 'exhausted'
  | 'soldOut'
  | 'paused'
  | 'ended'

/** The states of the release. */
export const SKU_STATES: readonly SkuState[] = [
  'idle',
  'ready',
  'releasing',
  'tapering',
  'trickling',
  'exhausted',
  'soldOut',
  'paused',
  'ended',
]

/** What the machine is told. `figures` is the newest reading of the ledger. */
export type SkuEvent =
  | { readonly type: 'configured' }
  | { readonly type: 'opened'; readonly figures: Figures }
  | { readonly type: 'figures'; readonly figures: Figures }
  | { readonly type: 'paused' }
  | { readonly type: 'resumed'; readonly figures: Figures }
  | { readonly type: 'ended' }
  | { readonly type: 'reset' }

/** The types of the events. */
export const SKU_EVENT_TYPES = ['configured', 'opened', 'figures', 'paused', 'resumed', 'ended', 'reset'] as const

/** What a state does to an ask. */
export type SkuGate = 'shut' | 'not-started' | 'open' | 'queued' | 'sold-out' | 'paused' | 'ended'

/** The gate of each state. */
export const SKU_GATES: Readonly<Record<SkuState, SkuGate>> = {
  idle: 'shut',
  ready: 'not-started',
  releasing: 'open',
  tapering: 'open',
  trickling: 'open',
  exhausted: 'queued',
  soldOut: 'sold-out',
  paused: 'paused',
  ended: 'ended',
}

type Next = SkuState | 'by-figures' | 'same'

/**
 * Transitions. `by-figures`: the state that the ledger's figures say (see `stateByFigures`), which may be any of
 * releasing, tapering, trickling, exhausted and soldOut: units come back, stock is added, thresholds change, and none of
 * it may lose or repeat a grant, so the machine never remembers where it came from.
 */
export const SKU_TABLE: Readonly<Record<SkuState, Readonly<Record<SkuEvent['type'], Next>>>> = {
  idle: row({ configured: 'ready', ended: 'ended' }),
  ready: row({ opened: 'by-figures', paused: 'paused', ended: 'ended', reset: 'idle' }),
  releasing: selling(),
  tapering: selling(),
  trickling: selling(),
  exhausted: selling(),
  soldOut: selling(),
  paused: row({ resumed: 'by-figures', ended: 'ended', reset: 'idle' }),
  ended: row({ reset: 'idle' }),
}

/** The next state; every pair of state and event is defined. */
export function skuStep(state: SkuState, event: SkuEvent, policy: Policy): SkuState {
  const next = SKU_TABLE[state][event.type]
  if (next === 'same') return state
  if (next !== 'by-figures') return next
  return 'figures' in event ? stateByFigures(event.figures, policy) : state
}

/** The selling state that the figures say. */
export function stateByFigures(figures: Figures, policy: Policy): SkuState {
  const { stock, free, held, pool, leased, outstanding } = figures
  if (free <= 0 || pool + leased <= 0) return held + outstanding > 0 ? 'exhausted' : free <= 0 ? 'soldOut' : 'exhausted'
  if (free <= policy.trickleAt) return 'trickling'
  return free <= stock * policy.taperAt ? 'tapering' : 'releasing'
}

/** Units per second in a state, for the whole cluster; null is no pace. */
export function paceOf(state: SkuState, policy: Policy): number | null {
  return state === 'releasing' ? policy.pacePerSecond : (policy.taperPacePerSecond ?? policy.pacePerSecond)
}

function row(transitions: Partial<Record<SkuEvent['type'], Next>>): Readonly<Record<SkuEvent['type'], Next>> {
  const same = Object.fromEntries(SKU_EVENT_TYPES.map((type) => [type, 'same'])) as Record<SkuEvent['type'], Next>
  return { ...same, ...transitions }
}

function selling(): Readonly<Record<SkuEvent['type'], Next>> {
  return row({
    opened: 'by-figures',
    figures: 'by-figures',
    resumed: 'by-figures',
    paused: 'paused',
    ended: 'ended',
    reset: 'idle',
  })
}
