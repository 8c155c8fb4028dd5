/** The dry run of a document: the checks that every front makes, its size, and what no sale can mean. */

import { type ActivityDoc, type ActivityState, DOCUMENT_BYTES_MAX, parseDocument, type SkuDoc } from '@bigtap/domain'

/** A year; longer is a slip of the keyboard: seconds for milliseconds, or a year too much. */
const YEAR_MS = 31_622_400_000
const RUNNING: readonly ActivityState[] = ['open', 'paused', 'closed']

/** What is wrong with a document; empty when a front takes it. A deletion is never wrong. */
export function checkDocument(key: string, body: unknown): string[] {
  if (body === null) return []
  const parsed = parseDocument(key, body)
  const bytes = new TextEncoder().encode(JSON.stringify(body) ?? '').length
  const size = bytes > DOCUMENT_BYTES_MAX ? [`${key} has ${bytes} bytes, exceeds ${DOCUMENT_BYTES_MAX}`] : []
  const errors = parsed === undefined || parsed.ok ? [] : parsed.errors
  return [...size, ...errors.map((error) => `${key}: ${error}`)]
}

/** What is well formed and yet means no sale: times a year off, a stock that its pace never sells. */
export function findAbsurd(activity: ActivityDoc, skus: Iterable<SkuDoc>, now: number): string[] {
  const { opensAt, closesAt } = activity
  const errors = []
  if (opensAt > now + YEAR_MS) errors.push(`opensAt ${opensAt} is more than a year ahead`)
  if (closesAt - opensAt > YEAR_MS) errors.push(`the sale lasts ${closesAt - opensAt} ms, more than a year`)
  if (RUNNING.includes(activity.state)) return errors // then a pace may be the brake
  const seconds = Math.max(1, (closesAt - opensAt) / 1_000)
  for (const { id, stock, policy } of skus) {
    const { pacePerSecond } = policy
    // Slow is a choice; a sale that cannot sell a hundredth of its units is not.
    if (pacePerSecond !== null && pacePerSecond * seconds * 100 < stock)
      errors.push(`pace ${pacePerSecond} of SKU ${id} sells less than a hundredth of ${stock} units in ${seconds} s`)
  }
  return errors
}
