/** How many asks are under way at a Middle node at a time, so that waiting happens here, where the better go first. Pure. */

/** Most under way at a node. */
export const WINDOW_MAX = 4_096
/** Fewest: a node that answers 1,000 a second has them for 12 ms. */
export const WINDOW_MIN = 12
/** At the start. */
export const WINDOW_INITIAL = 256
/** The way there and back should take no longer than this, ms. */
export const ROUND_MS_TARGET = 10
/** A way of so many times the target is the crowd's own doing: the window is halved without a trial. */
const FAR_TOO_LONG = 4
/** A trial makes it smaller by this part. */
const TRIAL = 0.7
/** A window that was made smaller in vain is let alone for so many looks, two seconds, and may grow by half meanwhile. */
const LOOKS_TO_HOLD = 40
const GROWTH_MAX = 1.5
/** A trial ends after so many looks; the first is of what was sent before. */
const LOOKS_TO_JUDGE = 4
/** New figures count by this part. */
const SMOOTH = 0.3
/** The way counts by half: one look in which the other side stood still is no long way. */
const SMOOTH_ROUND = 0.5

/** What was seen since the last look. */
export interface WindowSample {
  /** Was the window full? Only then does it matter. */
  readonly isFull: boolean
  /** Mean time there and back of answers that wait for nothing but Middle itself, and of those that never came; 0: none. */
  readonly roundMs: number
  /** Answers per ms. */
  readonly servedPerMs: number
}

/** The window between two looks. */
export interface WindowState {
  readonly size: number
  /** Answers per ms, and the way, smoothed. */
  readonly served: number
  readonly roundMs: number
  /** The smaller window is on trial: what it was before, what was served then, and since. */
  readonly before: number
  readonly servedBefore: number
  readonly servedSince: number
  readonly looks: number
  readonly hold: number
  /** How far it may grow during the hold. */
  readonly ceiling: number
}

const NO_TRIAL = { before: 0, servedBefore: 0, servedSince: 0, looks: 0 }

/** The window of a node of which nothing is known. */
export const FIRST_WINDOW: WindowState = {
  size: WINDOW_INITIAL,
  served: 0,
  roundMs: 0,
  ...NO_TRIAL,
  hold: 0,
  ceiling: 0,
}

/**
 * One look: grows by an eighth while it is full and the way is short; shrinks on trial while the way is longer than the
 * target. When a smaller window serves fewer, the way was long by itself, not for the crowd in it (Little, 1961): the
 * window goes back, and grows a little instead.
 */
export function moveWindow(before: WindowState, sample: WindowSample): WindowState {
  const state = smoothed(before, sample)
  const { size, roundMs } = state
  if (sample.roundMs > 0 && roundMs >= FAR_TOO_LONG * ROUND_MS_TARGET)
    return { ...state, ...NO_TRIAL, size: half(size) }
  if (state.before > 0) return judged(state, sample)
  if (!sample.isFull || sample.roundMs === 0) return state
  if (roundMs < ROUND_MS_TARGET) return { ...state, size: Math.min(WINDOW_MAX, size + Math.max(2, size >> 3)) }
  if (state.hold > 0) return { ...state, size: Math.max(size, Math.min(state.ceiling, size + 1)) }
  const smaller = Math.max(WINDOW_MIN, Math.floor(size * TRIAL))
  return smaller === size ? state : { ...state, ...NO_TRIAL, size: smaller, before: size, servedBefore: state.served }
}

function half(size: number): number {
  return Math.max(WINDOW_MIN, size >> 1)
}

function smoothed(state: WindowState, { roundMs, servedPerMs }: WindowSample): WindowState {
  const served = state.served === 0 ? servedPerMs : state.served + (servedPerMs - state.served) * SMOOTH
  const round =
    roundMs === 0 || state.roundMs === 0 ? roundMs : state.roundMs + (roundMs - state.roundMs) * SMOOTH_ROUND
  return { ...state, served, roundMs: round, hold: Math.max(0, state.hold - 1) }
}

function judged(state: WindowState, sample: WindowSample): WindowState {
  const looks = state.looks + 1
  const servedSince = looks === 1 ? 0 : state.servedSince + sample.servedPerMs
  if (looks < LOOKS_TO_JUDGE) return { ...state, looks, servedSince }
  const share = state.size / state.before
  const isInVain = sample.isFull && servedSince / (looks - 1) < state.servedBefore * ((1 + share) / 2)
  if (!isInVain) return { ...state, ...NO_TRIAL }
  const ceiling = Math.min(WINDOW_MAX, Math.floor(state.before * GROWTH_MAX))
  return { ...state, ...NO_TRIAL, size: state.before, hold: LOOKS_TO_HOLD, ceiling }
}
