import type { ActivityState } from './documents.ts'

/** What happens to an activity: an operator's action, or a fact that the keeper saw. */
export type ActivityEvent = 'schedule' | 'preload' | 'arm' | 'open' | 'pause' | 'resume' | 'close' | 'archive' | 'reset'

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
export function isSelling(state: ActivityState, opensAt: number, closesAt: number, now: number): boolean {
  return (state === 'open' || state === 'armed') && now >= opensAt && now < closesAt
}
