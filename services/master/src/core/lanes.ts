/**
 * Which lane a document takes to the fronts. Urgent: what stops a sale, lets it go on, or moves its buyers. It overtakes
 * everything else, and no gate stands before it.
 */

import { PRESSURE_KEY, SLOTS_KEY } from '@bigtap/domain'

type Doc = Readonly<Record<string, unknown>>

/** Fields whose change is urgent, by the kind that the key begins with. */
const URGENT_FIELDS: Readonly<Record<string, readonly string[]>> = {
  activity: ['state', 'stage'],
  sku: ['paused'],
  status: ['soldOut', 'exhausted'],
}

/** Is this change of a document urgent? `before` is what was published last, undefined when nothing was. */
export function isUrgent(key: string, before: unknown, after: unknown): boolean {
  if (key === SLOTS_KEY) return true
  const [kind = ''] = key.split(':', 1)
  if (!isDoc(after)) return false
  const old = isDoc(before) ? before : undefined
  if (kind === PRESSURE_KEY) return Number(after.factor) < Number(old?.factor ?? 1)
  if (kind === 'status' && old === undefined) return after.soldOut === true || after.exhausted === true
  return old !== undefined && (URGENT_FIELDS[kind] ?? []).some((field) => old[field] !== after[field])
}

/** Does this change have to be tried before? What only stops or moves a sale does not, nor do figures. */
export function needsTrial(key: string, before: unknown, after: unknown): boolean {
  const [kind = ''] = key.split(':', 1)
  if (!isDoc(after) || (kind !== 'activity' && kind !== 'sku')) return false
  const old = isDoc(before) ? before : {}
  const urgent = URGENT_FIELDS[kind] ?? []
  return Object.entries(after).some(
    ([name, value]) => !urgent.includes(name) && JSON.stringify(value) !== JSON.stringify(old[name]),
  )
}

function isDoc(value: unknown): value is Doc {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
