import { ACTIVITY_STAGES, type ActivityDoc, type ActivityStage, type ActivityState } from './documents.ts'

/** What happens to an activity: an operator's action, or a fact that the keeper saw. */
export type ActivityEvent = 'schedule' | 'preload' | 'arm' | 'open' | 'pause' | 'resume' | 'close' | 'archive' | 'reset'

/** An inner layer of the platform; the stage says which are open. */
export type Layer = Exclude<ActivityStage, 'shut'>

/** The events of an activity. */
export const ACTIVITY_EVENTS: readonly ActivityEvent[] = [
  'schedule',
  'preload',
  'arm',
  'open',
  'pause',
  'resume',
  'close',
  'archive',
  'reset',
]

/**
 * An activity: `draft → scheduled → preloading → armed → open ⇄ paused → closed → archived`, `reset` back to `draft`.
 * What is not in the table is refused: the state stays, and the caller says 409.
 */
export const ACTIVITY_TABLE: Readonly<Record<ActivityState, Partial<Record<ActivityEvent, ActivityState>>>> = {
  draft: { schedule: 'scheduled' },
  scheduled: { preload: 'preloading', close: 'closed', reset: 'draft' },
  preloading: { arm: 'armed', close: 'closed', reset: 'draft' },
  armed: { open: 'open', close: 'closed', reset: 'draft' },
  open: { pause: 'paused', close: 'closed' },
  paused: { resume: 'open', close: 'closed' },
  closed: { archive: 'archived', reset: 'draft' },
  archived: { reset: 'draft' },
}

/** The next state, or undefined where the event is refused. */
export function activityStep(state: ActivityState, event: ActivityEvent): ActivityState | undefined {
  return ACTIVITY_TABLE[state][event]
}

/** Does a front sell? An armed activity opens by each limiter's own clock; nothing has to arrive at that instant. */
export function isSelling(
  { state, stage, opensAt, closesAt }: Pick<ActivityDoc, 'state' | 'stage' | 'opensAt' | 'closesAt'>,
  now: number,
): boolean {
  const isOpen = (state === 'open' || state === 'armed') && isLayerOpen(stage, 'middle')
  return isOpen && now >= opensAt && now < closesAt
}

/** Is this layer known to be shut? Of an activity that is not known nothing is: the ledger has the last word. */
export function isLayerShut(activity: ActivityDoc | undefined, layer: Layer): boolean {
  return activity !== undefined && !isLayerOpen(activity.stage, layer)
}

/** Is this inner layer open at that stage? The ones within it are then open too. */
export function isLayerOpen(stage: ActivityStage, layer: Layer): boolean {
  return ACTIVITY_STAGES.indexOf(stage) >= ACTIVITY_STAGES.indexOf(layer)
}
