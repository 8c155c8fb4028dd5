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

/** Reads document `shares`. */
export function parseSharesDoc(value: unknown): Parsed<SharesDoc> {
  const fields = new Fields(value)
  const doc = { shares: fields.list('shares', SHARERS_MAX, readShare), at: fields.time('at') }
  const sum = doc.shares.reduce((total, { share }) => total + share, 0)
  if (sum > 1 + 1e-6) fields.errors.push(`shares add up to ${sum}, more than 1`)
  return fields.done(doc)
}

function readShare(value: unknown, path: string): Parsed<Share> {
  const fields = new Fields(value, path)
  return fields.done({
    nodeId: fields.text('nodeId', 64),
    share: fields.number('share', { min: 0, max: 1, fraction: true }),
  })
}
