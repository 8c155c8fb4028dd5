/** The machine's time and chance, for composition roots. */

import { randomBytes } from 'node:crypto'
import type { Clock, Random } from '@bigtap/kernel'

/** The wall clock and the process's monotonic clock. */
export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() }

/** The machine's chance; `bytes` are fit for secrets. */
export const systemRandom: Random = { next: () => Math.random(), bytes: (count) => randomBytes(count) }
