import { assert } from '../errors.ts'
import { NO_PLACE } from '../recency-list.ts'
import type { LimitSettings, LimitState, LimitStep } from './algorithm.ts'
import { fixedWindow } from './fixed-window.ts'
import { type KeyRoom, KeyTable } from './key-table.ts'
import { leakyBucket } from './leaky-bucket.ts'
import { slidingWindow } from './sliding-window.ts'
import { tokenBucket } from './token-bucket.ts'

/** One limit over many keys in bounded memory. */
export interface KeyedLimiter {
  /** Takes one unit for a key at `now` (ms since the epoch): 0 when allowed, else the ms after which it would be. */
  take(key: number | string, now: number): number
  /** Undoes the last `take`, which was allowed: what another limit refused takes nothing here either. */
  putBack(): void
  /** Changes `maxCount` and `burst`, and nothing of what was counted: who is over the new limit waits its window out. */
  retune(settings: LimitSettings): void
  /** Gives its share of the room back; it is not to be used any more. */
  release(): void
  readonly size: number
  readonly evicted: number
}

const ALGORITHMS: Readonly<Record<LimitSettings['algorithm'], (settings: LimitSettings) => LimitStep>> = {
  'fixed-window': fixedWindow,
  'sliding-window': slidingWindow,
  'leaky-bucket': leakyBucket,
  'token-bucket': tokenBucket,
}

/** The pure step of a limit. A limit that could never let anybody through is a bug of whoever made it. */
export function limitStep(settings: LimitSettings): LimitStep {
  const { algorithm, seconds, maxCount, burst = maxCount } = settings
  assert(seconds > 0 && seconds < Number.POSITIVE_INFINITY, `limit over ${seconds} seconds`)
  assert(maxCount >= 1 && burst >= 1, `limit of ${maxCount} with burst ${burst} lets nobody through`)
  return ALGORITHMS[algorithm](settings)
}

/**
 * Makes a limiter that remembers at most `keysMax` keys, as far as the room goes that it shares with others. At the limit the key that was used longest ago is forgotten:
 * spraying keys costs the sprayer its own memory, and a forgotten key starts afresh, so nobody is blocked for ever.
 * An access of a known key allocates nothing.
 */
export function createLimiter(settings: LimitSettings & { keysMax: number; room?: KeyRoom }): KeyedLimiter {
  assert(settings.keysMax >= 1, `limiter with ${settings.keysMax} keys`)
  let step = limitStep(settings)
  const keys = new KeyTable(Math.floor(settings.keysMax), settings.room)
  const states = new StateColumns(keys.places)
  return {
    take(key, now) {
      let place = keys.use(key)
      if (place === NO_PLACE) {
        place = keys.add(key)
        states.clear(place, keys.places)
      }
      const state = states.load(place)
      const waitMs = step(state, now)
      states.save(place)
      return waitMs
    },
    putBack: () => states.undo(),
    retune(next) {
      const isSameKind = next.algorithm === settings.algorithm && next.seconds === settings.seconds
      assert(isSameKind, `limit ${settings.algorithm} over ${settings.seconds} s cannot become another kind`)
      step = limitStep(next)
    },
    release: () => keys.release(),
    get size() {
      return keys.size
    },
    get evicted() {
      return keys.evicted
    },
  }
}

const FIELDS = 4

/** The states of all keys in one typed array; the one in work is copied into an object that is used again and again. */
class StateColumns {
  #values: Float64Array
  readonly #state: LimitState = { at: 0, a: 0, b: 0, c: 0 }
  /** What stood at the last place before its last step. */
  readonly #before = new Float64Array(FIELDS)
  #last = NO_PLACE

  constructor(places: number) {
    this.#values = new Float64Array(places * FIELDS)
  }

  load(place: number): LimitState {
    const at = place * FIELDS
    const before = this.#before
    this.#last = place
    this.#state.at = before[0] = this.#values[at] ?? 0
    this.#state.a = before[1] = this.#values[at + 1] ?? 0
    this.#state.b = before[2] = this.#values[at + 2] ?? 0
    this.#state.c = before[3] = this.#values[at + 3] ?? 0
    return this.#state
  }

  save(place: number): void {
    const at = place * FIELDS
    this.#values[at] = this.#state.at
    this.#values[at + 1] = this.#state.a
    this.#values[at + 2] = this.#state.b
    this.#values[at + 3] = this.#state.c
  }

  undo(): void {
    if (this.#last !== NO_PLACE) this.#values.set(this.#before, this.#last * FIELDS)
    this.#last = NO_PLACE
  }

  clear(place: number, places: number): void {
    if (places * FIELDS > this.#values.length) {
      const values = this.#values
      this.#values = new Float64Array(places * FIELDS)
      this.#values.set(values)
    }
    this.#values.fill(0, place * FIELDS, (place + 1) * FIELDS)
  }
}
