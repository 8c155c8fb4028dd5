/** How many asks are under way at a Middle node at a time, so that waiting happens here, where the better go first. Pure. */

/** Most and fewest under way at a node. */
export const WINDOW_MAX = 4_096
export const WINDOW_MIN = 8
/** At the start. */
export const WINDOW_INITIAL = 256
/** The way there and back should take no longer than this, ms. */
export const ROUND_MS_TARGET = 10
/** A window that was made smaller in vain stays as it is for so many looks: two seconds. */
const LOOKS_TO_HOLD = 40
const LOOKS_TO_JUDGE = 2

/** What was seen since the last look. */
export interface WindowSample {
  /** Was the window full? Only then does it matter. */
  readonly isFull: boolean
  /** Mean time there and back of answers that wait for nothing but Middle itself; 0 when there was none. */
  readonly roundMs: number
  /** Answers per ms. */
  readonly servedPerMs: number
}

/** The window between two looks. */
export interface WindowState {
  readonly size: number
  /** The smaller window is on trial: what it was before, and what was served then. */
  readonly before: number
  readonly servedBefore: number
  readonly looks: number
  readonly hold: number
}

/** The window of a node of which nothing is known. */
export const FIRST_WINDOW: WindowState = { size: WINDOW_INITIAL, before: 0, servedBefore: 0, looks: 0, hold: 0 }

/**
 * One look: grows by an eighth while it is full and the way is short; shrinks as the way is longer than the target. When a
 * smaller window serves fewer, the way was long by itself, not for the crowd in it (Little, 1961): the window goes back
 * and stays for a while.
 */
export function moveWindow(state: WindowState, sample: WindowSample): WindowState {
  if (state.before > 0) return judged(state, sample)
  const hold = Math.max(0, state.hold - 1)
  if (!sample.isFull || sample.roundMs === 0) return { ...state, hold }
  const { size } = state
  if (sample.roundMs < ROUND_MS_TARGET) {
    return { ...state, hold, size: Math.min(WINDOW_MAX, size + Math.max(2, size >> 3)) }
  }
  if (hold > 0 || size === WINDOW_MIN) return { ...state, hold }
  const smaller = Math.max(WINDOW_MIN, Math.floor(size * Math.max(0.25, ROUND_MS_TARGET / sample.roundMs)))
  return { size: smaller, before: size, servedBefore: sample.servedPerMs, looks: 0, hold: 0 }
}

function judged(state: WindowState, sample: WindowSample): WindowState {
  const looks = state.looks + 1
  if (looks < LOOKS_TO_JUDGE) return { ...state, looks }
  const share = state.size / state.before
  const isInVain = sample.isFull && sample.servedPerMs < state.servedBefore * ((1 + share) / 2)
  if (isInVain) return { size: state.before, before: 0, servedBefore: 0, looks: 0, hold: LOOKS_TO_HOLD }
  return { ...state, before: 0, servedBefore: 0, looks: 0 }
}
