export { type Backoff, backoffMs, jitterMs } from './backoff.ts'
export { DeadlineSweep } from './deadlines.ts'
export { AssertionError, assert, CodedError, type Fault, hasCode } from './errors.ts'
export { hashText, hashUid, mix, SLOT_COUNT, slotOf } from './hash.ts'
export type { LimitSettings, LimitState, LimitStep } from './limit/algorithm.ts'
export { KEYS_APART, KeyRoom } from './limit/key-table.ts'
export { createLimiter, type KeyedLimiter, limitStep } from './limit/keyed-limiter.ts'
export {
  type Clock,
  type Counter,
  type Histogram,
  type Logger,
  type Metrics,
  nullLogger,
  nullMetrics,
  type Random,
} from './ports.ts'
export { RateSketch } from './rate-sketch.ts'
export { NO_PLACE, RecencyList } from './recency-list.ts'
export { Ring } from './ring.ts'
export { ShedQueue } from './shed-queue.ts'
export { NO_SLOT, SlotTable } from './slots.ts'
export { UidSet } from './uid-set.ts'
export { UidTable } from './uid-table.ts'
