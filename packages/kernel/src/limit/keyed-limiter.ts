import { assert } from '../errors.ts'
import type { LimitSettings, LimitState, LimitStep } from './algorithm.ts'
import { fixedWindow } from './fixed-window.ts'
import { leakyBucket } from './leaky-bucket.ts'
import { slidingWindow } from './sliding-window.ts'
import { tokenBucket } from './token-bucket.ts'

/** One limit over many keys in bounded memory. */
export interface KeyedLimiter {
  /** Takes one unit for a key at `now` (ms since the epoch): 0 when allowed, else the ms after which it would be. */
  take(key: number | string, now: number): number
  readonly size: number
  readonly evicted: number
}

const ALGORITHMS: Readonly<Record<LimitSettings['algorithm'], (settings: LimitSettings) => LimitStep>> = {
  'fixed-window': fixedWindow,
  'sliding-window': slidingWindow,
  'leaky-bucket': leakyBucket,
  'token-bucket': tokenBucket,
}

/** The pure step of a limit. */
export function limitStep(settings: LimitSettings): LimitStep {
  return ALGORITHMS[settings.algorithm](settings)
}

/**
 * Makes a limiter that remembers at most `keysMax` keys. At the limit the key that was used longest ago is forgotten
 * (a Map keeps insertion order; a used key is put back at the end): spraying keys costs the sprayer its own memory,
 * and a forgotten key starts afresh, so nobody is blocked for ever.
 */
export function createLimiter(settings: LimitSettings & { keysMax: number }): KeyedLimiter {
  assert(settings.keysMax > 0, `limiter with ${settings.keysMax} keys`)
  const step = limitStep(settings)
  const states = new Map<number | string, LimitState>()
  let evicted = 0
  return {
    take(key, now) {
      let state = states.get(key)
      if (state) states.delete(key)
      else {
        if (states.size >= settings.keysMax) {
          for (const oldest of states.keys()) {
            states.delete(oldest)
            break
          }
          evicted++
        }
        state = { at: 0, a: 0, b: 0 }
      }
      states.set(key, state)
      return step(state, now)
    },
    get size() {
      return states.size
    },
    get evicted() {
      return evicted
    },
  }
}
