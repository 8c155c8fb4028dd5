import { parseId } from '@bigtap/domain'

/** Most SKUs that one node tells of. */
export const SKUS_MAX = 4_096
/** Most figures in one place. */
export const FIGURES_MAX = 64
const CHARS_MAX = 64
const LABEL_CHARS_MAX = 256
const LABELS_MAX = 64

/** Figures whose values nobody has checked yet. */
export type RawFigures = Readonly<Record<string, unknown>>

/** Figures of one SKU, ids checked. */
export interface RawSku {
  readonly activityId: number
  readonly skuId: number
  readonly state: string
  readonly figures: RawFigures
}

/** What a node told: who and which SKUs is checked, the values are not. protocol's Stats are one. */
export interface RawStats {
  readonly nodeId: string
  readonly role: string
  /** The node's own clock, ms since the epoch. */
  readonly at: number
  readonly figures: RawFigures
  readonly labels: Readonly<Record<string, string>>
  readonly skus: readonly RawSku[]
}

/** Reads what a service pushed; undefined when it does not say who it is and when. SKUs without ids are left out. */
export function parsePushed(value: unknown): RawStats | undefined {
  if (!isObject(value)) return undefined
  const { nodeId, role, at } = value
  if (!isName(nodeId) || !isName(role) || typeof at !== 'number' || !Number.isFinite(at)) return undefined
  const skus = Array.isArray(value.skus) ? value.skus.slice(0, SKUS_MAX) : []
  return {
    ...{ nodeId, role, at },
    figures: isObject(value.figures) ? value.figures : {},
    labels: labelsOf(value.labels),
    skus: skus.flatMap(parseSku),
  }
}

function parseSku(value: unknown): RawSku[] {
  if (!isObject(value)) return []
  const activityId = parseId(value.activityId)
  const skuId = parseId(value.skuId)
  if (activityId === undefined || skuId === undefined) return []
  const state = typeof value.state === 'string' && value.state.length <= CHARS_MAX ? value.state : ''
  return [{ activityId, skuId, state, figures: isObject(value.figures) ? value.figures : {} }]
}

function labelsOf(value: unknown): Record<string, string> {
  if (!isObject(value)) return {}
  const isLabel = (entry: [string, unknown]): entry is [string, string] =>
    isName(entry[0]) && typeof entry[1] === 'string' && entry[1].length <= LABEL_CHARS_MAX
  return Object.fromEntries(Object.entries(value).slice(0, LABELS_MAX).filter(isLabel))
}

/** Names become keys: no spaces, no control characters. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= CHARS_MAX && /^[\x21-\x7e]+$/.test(value)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
