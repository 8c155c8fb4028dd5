import { type Dirt, dirtOf, LEDGER_AGE, ruleOf } from './figure-rules.ts'
import { FIGURES_MAX, type RawFigures } from './raw-stats.ts'

/** What one node last told of itself, or of one SKU. Maps, so that no name can mean something to an object. */
export interface Sample {
  readonly gauges: Map<string, number>
  /** As the node gave them, to make the next difference from. */
  readonly counters: Map<string, number>
  /** Ledger figures, where there were any, and their age when they were told, ms. */
  ledger: { readonly figures: ReadonlyMap<string, number>; readonly ageMs: number } | undefined
  state: string
}

/** What taking figures needs to know and tell. */
export interface Taking {
  /** Time since the figures before, ms; undefined when there were none or it is too short to make a rate of. */
  readonly elapsedMs: number | undefined
  /** A counter has grown: by all of its value when it was not known before. */
  onGrowth(name: string, by: number): void
  onDirt(dirt: Dirt): void
}

/** A sample of nothing yet. */
export function newSample(): Sample {
  return { gauges: new Map(), counters: new Map(), ledger: undefined, state: '' }
}

/**
 * Takes new figures over: bad values are dropped, counters become growth and rates.
 *
 * A counter that fell belongs to a node that was restarted: what it shows now has all been counted since.
 */
export function takeFigures(sample: Sample, figures: RawFigures, taking: Taking): void {
  const { gauges } = sample
  const ledger = new Map<string, number>()
  let taken = 0
  let told = 0
  for (const name in figures) {
    const value = figures[name]
    const dirt = ++taken > FIGURES_MAX ? 'excess' : dirtOf(name, value)
    if (dirt !== undefined) {
      taking.onDirt(dirt)
      continue
    }
    const rule = ruleOf(name)
    if (rule.kind === 'ledger') ledger.set(name, value as number)
    else if (rule.kind === 'gauge') {
      gauges.set(name, value as number)
      told++
    } else if (takeCounter(sample, { name, rateName: rule.rate, value: value as number }, taking)) told++
  }
  if (gauges.size > told) forgetUntold(gauges, figures)
  const ageMs = ledger.get(LEDGER_AGE) ?? 0
  ledger.delete(LEDGER_AGE)
  sample.ledger = ledger.size === 0 ? undefined : { figures: ledger, ageMs }
}

interface CounterValue {
  readonly name: string
  readonly rateName: string
  readonly value: number
}

/** True when there is a rate. */
function takeCounter({ gauges, counters }: Sample, { name, rateName, value }: CounterValue, taking: Taking): boolean {
  const known = counters.get(name)
  const growth = growthOf(known, value)
  const rate = rateOf(known === undefined ? undefined : growth, taking.elapsedMs, gauges.get(rateName))
  if (rate !== undefined) gauges.set(rateName, rate)
  counters.set(name, value)
  if (growth > 0) taking.onGrowth(name, growth)
  return rate !== undefined
}

/** Values are written over in place; only when a node told fewer than before is there something to remove. */
function forgetUntold(gauges: Map<string, number>, figures: RawFigures): void {
  const told = new Set<string>()
  for (const name in figures) {
    const rule = ruleOf(name)
    if (dirtOf(name, figures[name]) === undefined) told.add(rule.kind === 'counter' ? rule.rate : name)
  }
  for (const name of gauges.keys()) if (!told.has(name)) gauges.delete(name)
}

function growthOf(known: number | undefined, value: number): number {
  if (known === undefined || value < known) return value
  return value - known
}

/** Per second. Two reports in one moment give no rate: the one before stands. */
function rateOf(growth: number | undefined, elapsedMs: number | undefined, before: number | undefined) {
  if (growth === undefined) return undefined
  return elapsedMs === undefined ? before : (growth * 1_000) / elapsedMs
}
