/** ShareKeeper: which part of the budgets of scope `global` and `sku` each limiter may give away, by recent traffic. Pure. */

import { SHARERS_MAX, SHARES_OLD_MS, type Share, type SharesDoc } from '@bigtap/domain'

/** A limiter that lives; `askRate` in asks per second, undefined while no figures of it are known. */
export interface LimiterFact {
  readonly nodeId: string
  readonly askRate: number | undefined
}

/** What a round is told. `isNeeded`: some activity near its sale or in it limits by `global` or `sku`. */
export interface ShareFacts {
  readonly limiters: readonly LimiterFact[]
  readonly isNeeded: boolean
}

/** Smoothed asks per second by limiter, when they were smoothed last, and what is published. Times in ms since the epoch. */
export interface ShareState {
  readonly weights: ReadonlyMap<string, number>
  readonly at: number
  readonly published: SharesDoc | undefined
}

/** The next state, and the document to publish where it differs enough. */
export interface ShareStep {
  readonly state: ShareState
  readonly publish: SharesDoc | undefined
}

/**
 * Part of the budgets that is split evenly: who had no traffic until now is not refused everything when it comes. Larger,
 * more of a budget would lie idle at limiters that nobody asks: this much at most.
 */
export const EVEN_PART = 0.05
/** Traffic of the last seconds counts: after three of them two thirds of a change are seen. */
export const SMOOTHING_MS = 3_000
/** Shares that follow traffic are published at most this often; a limiter that came or went is at once. */
export const SHARES_EVERY_MS = 1_000
/** Said anew this often while they are needed, so that limiters can tell an old document from one that stands. */
export const SHARES_AGAIN_MS = SHARES_OLD_MS / 3
/** A share that is off by less than both, relative and of the whole, is left alone. */
export const ENOUGH = { relative: 0.1, absolute: 0.01 } as const
/** Shares are rounded down, so that the sum is never above 1. */
const PARTS = 1_000_000

/** Begins with what is published: a new leader does not know the traffic yet, and changes nothing before it does. */
export function startShares(doc?: SharesDoc, now = 0): ShareState {
  const weights = new Map(doc?.shares.map(({ nodeId, share }) => [nodeId, share]))
  return { weights, at: now, published: doc }
}

/**
 * ```
 *   weight_i += (askRate_i - weight_i) x (1 - e^(-elapsed / 3 s))       a new limiter begins with the mean of the others
 *   share_i   = 0.05 / n + 0.95 x weight_i / sum of weights               of n limiters that live; even while nobody asks
 * ```
 */
export function stepShares(before: ShareState, now: number, { limiters, isNeeded }: ShareFacts): ShareStep {
  const named = limiters.slice(0, SHARERS_MAX)
  const weights = smooth(before, now, named)
  const state = { weights, at: now, published: before.published }
  if (named.length === 0) return { state, publish: undefined }
  const shares = sharesOf(weights)
  if (!isDue(before.published, shares, now, isNeeded)) return { state, publish: undefined }
  const publish = { shares, at: Math.max(0, Math.floor(now)) }
  return { state: { ...state, published: publish }, publish }
}

function smooth({ weights, at }: ShareState, now: number, limiters: readonly LimiterFact[]): Map<string, number> {
  // A clock that was set back counts as no time.
  const part = 1 - Math.exp(-Math.max(0, now - at) / SMOOTHING_MS)
  const known = limiters.flatMap(({ nodeId }) => weights.get(nodeId) ?? [])
  const mean = known.length === 0 ? 0 : known.reduce((sum, weight) => sum + weight, 0) / known.length
  return new Map(
    limiters.map(({ nodeId, askRate }) => {
      const weight = weights.get(nodeId) ?? (known.length === 0 ? (askRate ?? 0) : mean)
      return [nodeId, askRate === undefined ? weight : weight + (askRate - weight) * part]
    }),
  )
}

function sharesOf(weights: ReadonlyMap<string, number>): Share[] {
  const sum = [...weights.values()].reduce((total, weight) => total + weight, 0)
  const even = 1 / weights.size
  return [...weights].map(([nodeId, weight]) => {
    const share = sum > 0 ? EVEN_PART * even + (1 - EVEN_PART) * (weight / sum) : even
    return { nodeId, share: Math.floor(share * PARTS) / PARTS }
  })
}

function isDue(doc: SharesDoc | undefined, shares: readonly Share[], now: number, isNeeded: boolean): boolean {
  if (doc === undefined) return true
  const published = new Map(doc.shares.map(({ nodeId, share }) => [nodeId, share]))
  if (published.size !== shares.length || shares.some(({ nodeId }) => !published.has(nodeId))) return true
  const ageMs = Math.abs(now - doc.at)
  if (!isNeeded || ageMs < SHARES_EVERY_MS) return false
  return ageMs >= SHARES_AGAIN_MS || shares.some(({ nodeId, share }) => isOff(published.get(nodeId) ?? 0, share))
}

function isOff(published: number, share: number): boolean {
  const off = Math.abs(share - published)
  return off > ENOUGH.absolute && off > ENOUGH.relative * published
}
