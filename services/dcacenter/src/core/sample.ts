import { type Dirt, dirtOf, LEDGER_AGE, ruleOf } from './figure-rules.ts'
import { FIGURES_MAX, type RawFigures } from './raw-stats.ts'

/** What one node last told of itself, or of one SKU. Maps, so that no name can mean something to an object. */
export interface Sample {
  gauges: Map<string, number>
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
  const before = sample.gauges
  const gauges = new Map<string, number>()
  const ledger = new Map<string, number>()
  let taken = 0
  for (const [name, value] of Object.entries(figures)) {
    const dirt = ++taken > FIGURES_MAX ? 'excess' : dirtOf(name, value)
    if (dirt !== undefined) {
      taking.onDirt(dirt)
      continue
    }
    const rule = ruleOf(name)
    if (rule.kind === 'ledger') ledger.set(name, value as number)
    else if (rule.kind === 'gauge') gauges.set(name, value as number)
    else {
      const known = sample.counters.get(name)
      const growth = growthOf(known, value as number)
      const rate = rateOf(known === undefined ? undefined : growth, taking.elapsedMs, before.get(rule.rate))
      if (rate !== undefined) gauges.set(rule.rate, rate)
      sample.counters.set(name, value as number)
      if (growth > 0) taking.onGrowth(name, growth)
    }
  }
  sample.gauges = gauges
  const ageMs = ledger.get(LEDGER_AGE) ?? 0
  ledger.delete(LEDGER_AGE)
  sample.ledger = ledger.size === 0 ? undefined : { figures: ledger, ageMs }
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
