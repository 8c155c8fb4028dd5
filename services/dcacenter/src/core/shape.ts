import { NODE_ONLY, ruleOf } from './figure-rules.ts'
import type { KnownNode, KnownSku, Memory } from './memory.ts'

/** The fields of a hash, in the order in which they are shown. */
export type Fields = Map<string, number | string>

/** States of a SKU, the one that sells most first: where nodes differ, it is on sale as long as one sells. */
const STATES = ['releasing', 'tapering', 'trickling', 'exhausted', 'paused', 'soldOut', 'ready', 'ended', 'idle']
/** Nobody told of any: there were none. Stock, on the other hand, is left out until somebody knows it. */
const SKU_ZEROS = ['granted', 'askRate', 'grantRate', 'shed'] as const
const TOTAL_ZEROS = ['asks', 'askRate', 'granted', 'grantRate', 'shed', 'connections', 'queueDepth'] as const

/** `node:{id}`: what one node told, counters as it gave them. */
export function shapeNode(node: KnownNode, now: number): Fields {
  const { role, address, labels, sample } = node
  const fields: Fields = new Map<string, number | string>([
    ['role', role],
    ['address', address],
  ])
  for (const [name, value] of sample.gauges) fields.set(name, rounded(value))
  for (const [name, value] of sample.counters) fields.set(name, value)
  for (const [name, text] of Object.entries(labels)) if (!fields.has(name)) fields.set(name, text)
  return fields.set('ageMs', ageOf(node.heardAt, now))
}

/** `sku:{activity}:{sku}`: one SKU over all nodes that are fresh. */
export function shapeSku(memory: Memory, sku: KnownSku, now: number): Fields {
  const fields: Fields = new Map<string, number | string>([['state', stateOf(memory, sku, now)]])
  for (const [name, value] of sku.ledger?.figures ?? []) fields.set(name, value)
  for (const name of SKU_ZEROS) fields.set(name, 0)
  for (const [name, value] of sku.counts) fields.set(name, value)
  for (const [node, { gauges }] of sku.nodes) if (memory.isFresh(node, now)) addGauges(fields, gauges)
  fields.set('granted', Math.max(numberOf(fields, 'granted'), grantedByLedger(sku)))
  roundAll(fields)
  if (sku.ledger !== undefined) fields.set('ledgerAgeMs', ageOf(sku.ledger.at, now))
  return fields.set('ageMs', ageOf(sku.heardAt, now))
}

/** Everything at one moment, each SKU summed once. */
export interface Shapes {
  readonly skus: ReadonlyMap<KnownSku, Fields>
  /** `activity:{id}`: the sums of its SKUs. */
  readonly activities: ReadonlyMap<number, Fields>
  /** `totals`: sums of all nodes, and of all SKUs where no node tells of the whole. */
  readonly totals: Fields
}

/** Sums up all SKUs, activities and nodes. */
export function shapeAll(memory: Memory, now: number): Shapes {
  const skus = new Map<KnownSku, Fields>()
  const activities = new Map<number, Fields>()
  const all: Fields = new Map([['skus', 0]])
  for (const sku of memory.skus(now)) {
    const fields = shapeSku(memory, sku, now)
    const activity: Fields = activities.get(sku.activityId) ?? new Map([['skus', 0]])
    skus.set(sku, fields)
    activities.set(sku.activityId, activity)
    addSku(activity, fields)
    addSku(all, fields)
  }
  for (const fields of [...activities.values(), all]) roundAll(fields)
  return { skus, activities, totals: shapeTotals(memory, all, now) }
}

function shapeTotals(memory: Memory, fields: Fields, now: number): Fields {
  const nodes = [...memory.nodes(now)]
  const fresh = nodes.filter((node) => memory.isFresh(node, now))
  const own: Fields = new Map(memory.counts)
  for (const { sample } of fresh) addGauges(own, sample.gauges)
  for (const name of TOTAL_ZEROS) if (!fields.has(name) && !own.has(name)) fields.set(name, 0)
  for (const [name, value] of own) if (!NODE_ONLY.has(name)) fields.set(name, value)
  roundAll(fields)
  fields.set('nodes', fresh.length).set('silentNodes', nodes.length - fresh.length)
  const heardAt = Math.max(...nodes.map((node) => node.heardAt))
  return fields.set('ageMs', nodes.length === 0 ? 0 : ageOf(heardAt, now))
}

/** The numbers of a hash. */
export function numbersIn(fields: Fields): Record<string, number> {
  const numbers: Record<string, number> = {}
  for (const [name, value] of fields) if (typeof value === 'number') numbers[name] = value
  return numbers
}

/** The texts of a hash, but for the role. */
export function labelsIn(fields: Fields): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const [name, value] of fields) if (typeof value === 'string' && name !== 'role') texts[name] = value
  return texts
}

/** Ages are not summed: the youngest counts. */
function addSku(sums: Fields, fields: Fields): void {
  sums.set('skus', numberOf(sums, 'skus') + 1)
  for (const [name, value] of fields) {
    if (typeof value !== 'number' || name === 'ledgerAgeMs') continue
    if (name === 'ageMs') sums.set(name, Math.min(value, (sums.get(name) as number | undefined) ?? value))
    else addTo(sums, name, value)
  }
}

function addGauges(sums: Fields, gauges: ReadonlyMap<string, number>): void {
  for (const [name, value] of gauges) addTo(sums, name, value)
}

function addTo(sums: Fields, name: string, value: number): void {
  const rule = ruleOf(name)
  const before = numberOf(sums, name)
  sums.set(name, rule.kind === 'gauge' && rule.over === 'max' ? Math.max(before, value) : before + value)
}

function numberOf(fields: Fields, name: string): number {
  const value = fields.get(name)
  return typeof value === 'number' ? value : 0
}

/** What the counters of nodes that died took with them, the ledger still knows: every token became an order, died, or waits. */
function grantedByLedger({ ledger }: KnownSku): number {
  const figures = ledger?.figures
  if (figures?.has('reservedTotal') !== true) return 0
  return ['reservedTotal', 'deadTotal', 'outstanding'].reduce((sum, name) => sum + (figures.get(name) ?? 0), 0)
}

function stateOf(memory: Memory, sku: KnownSku, now: number): string {
  let best = ''
  for (const [node, { state }] of sku.nodes) {
    if (state === '' || !memory.isFresh(node, now)) continue
    if (best === '' || rankOf(state) < rankOf(best)) best = state
  }
  return best
}

function rankOf(state: string): number {
  const rank = STATES.indexOf(state)
  return rank < 0 ? STATES.length : rank
}

function roundAll(fields: Fields): void {
  for (const [name, value] of fields) if (typeof value === 'number') fields.set(name, rounded(value))
}

/** Hundredths are enough for an eye and a rule, and keep a tick short. */
function rounded(value: number): number {
  return Number.isInteger(value) ? value : Math.round(value * 100) / 100
}

function ageOf(at: number, now: number): number {
  return Math.max(0, Math.round(now - at))
}
