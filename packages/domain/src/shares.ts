/** Document `shares`: which part of the budgets of scope `global` and `sku` each limiter process may give away. */

import { Fields, type Parsed } from './checks.ts'

/** Key of the document. */
export const SHARES_KEY = 'shares'
/** Limiter processes that share budgets. */
export const SHARERS_MAX = 1_000

/** One limiter's share, 0..1. */
export interface Share {
  readonly nodeId: string
  readonly share: number
}

/** The shares by recent traffic; `at` in ms since the epoch. They add up to at most 1. */
export interface SharesDoc {
  readonly shares: readonly Share[]
  readonly at: number
}

/** A document that is older than this tells nothing: master says the shares anew at least three times as often. */
export const SHARES_OLD_MS = 30_000

/**
 * The share of a limiter, 0..1. One that is not named takes an equal one, as if it were named beside the others; so does
 * each when the document is old, and then they take a little less than the whole together. Without a document it is alone.
 *
 * | the document | a limiter that it names | one that it does not name |
 * | --- | --- | --- |
 * | names n, fresh | what it says | 1 / (n + 1) |
 * | names n, old | 1 / (n + 1) | 1 / (n + 1) |
 * | is not there | | 1 |
 */
export function shareOf(doc: SharesDoc | undefined, nodeId: string, now: number): number {
  if (doc === undefined) return 1
  const own = doc.shares.find((share) => share.nodeId === nodeId)
  const isFresh = Math.abs(now - doc.at) <= SHARES_OLD_MS
  return own !== undefined && isFresh ? own.share : 1 / (doc.shares.length + 1)
}

/** Reads document `shares`. */
export function parseSharesDoc(value: unknown): Parsed<SharesDoc> {
  const fields = new Fields(value)
  const doc = { shares: fields.list('shares', SHARERS_MAX, readShare), at: fields.time('at') }
  const sum = doc.shares.reduce((total, { share }) => total + share, 0)
  if (sum > 1 + 1e-6) fields.errors.push(`shares add up to ${sum}, more than 1`)
  const names = new Set(doc.shares.map(({ nodeId }) => nodeId))
  if (names.size < doc.shares.length) fields.errors.push('shares names a limiter twice')
  return fields.done(doc)
}

function readShare(value: unknown, path: string): Parsed<Share> {
  const fields = new Fields(value, path)
  return fields.done({
    nodeId: fields.text('nodeId', 64),
    share: fields.number('share', { min: 0, max: 1, fraction: true }),
  })
}
