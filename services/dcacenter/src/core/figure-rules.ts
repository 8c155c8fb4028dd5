import { NO_FIGURES } from '@bigtap/domain'

/**
 * What a figure is.
 *
 * - `counter` only grows until its node restarts; it is kept as a sum over nodes and made into a rate per second.
 * - `gauge` is a value of the moment; over nodes it is summed, or the largest counts.
 * - `ledger` figures are a set that belongs together: the newest whole set counts, from whichever node it comes.
 */
export type FigureRule =
  | { readonly kind: 'counter'; readonly rate: string }
  | { readonly kind: 'gauge'; readonly over: 'sum' | 'max' }
  | { readonly kind: 'ledger' }

/** How old a node's ledger figures were when it told them, ms; comes with them. */
export const LEDGER_AGE = 'ledgerAgeMs'

/** Per-kind counters: `answers.sold_out` has the rate `answerRate.sold_out`, `limited.ip` `limitedRate.ip`, `shedOf.5` (tier) `shedOfRate.5`. */
const KINDS = { answers: 'answerRate', limited: 'limitedRate', shedOf: 'shedOfRate' } as const

const RATES: Readonly<Record<string, string>> = {
  asks: 'askRate',
  granted: 'grantRate',
  shed: 'shedRate',
  middleAsks: 'middleAskRate',
  calls: 'callRate',
  stored: 'storedRate',
  commands: 'commandRate',
  frames: 'frameRate',
  acks: 'ackRate',
  accessEvents: 'accessEventRate',
  verdicts: 'verdictRate',
}
const LARGEST: ReadonlySet<string> = new Set([
  'eventLoopMs',
  'lag',
  'waitMs',
  'oldestMs',
  'shedRanks',
  'queueWaitMs',
  'accessLagMs',
])
const LEDGER: ReadonlySet<string> = new Set([...Object.keys(NO_FIGURES), LEDGER_AGE])

/** Says nothing when summed: it is shown with its node only. */
export const NODE_ONLY: ReadonlySet<string> = new Set(['revision', 'isLeader', 'epoch'])

/** The rule of a figure; a name that is not known is a gauge that is summed. */
export function ruleOf(name: string): FigureRule {
  return known(name).rule
}

const LEDGER_RULE: FigureRule = { kind: 'ledger' }
const MAX_RULE: FigureRule = { kind: 'gauge', over: 'max' }
const SUM_RULE: FigureRule = { kind: 'gauge', over: 'sum' }

/** Why a value was dropped. */
export type Dirt = 'notFinite' | 'negative' | 'absurd' | 'badName' | 'excess'
/** All reasons. */
export const DIRT: readonly Dirt[] = ['notFinite', 'negative', 'absurd', 'badName', 'excess']

const NAME = /^[a-zA-Z][a-zA-Z0-9_.-]{0,63}$/
/** Above these a value says that its node is broken, not that it is busy. */
const MOST: Readonly<Record<string, number>> = { cpu: 1_024, eventLoopMs: 3_600_000, ageMs: 86_400_000 }

/** Whether a value can be believed: undefined, or why not. All figures of the platform are counts or sizes, none negative. */
export function dirtOf(name: string, value: unknown): Dirt | undefined {
  const { isName, most } = known(name)
  if (!isName) return 'badName'
  if (typeof value !== 'number' || !Number.isFinite(value)) return 'notFinite'
  if (value < 0) return 'negative'
  return value > most ? 'absurd' : undefined
}

interface Known {
  readonly rule: FigureRule
  readonly isName: boolean
  readonly most: number
}

/** Names come again and again, a million times a second in a large platform; made-up ones must not fill the memory. */
const KNOWN_MAX = 4_096
const KNOWN = new Map<string, Known>()

function known(name: string): Known {
  const found = KNOWN.get(name)
  if (found !== undefined) return found
  const most = Object.hasOwn(MOST, name) ? MOST[name] : undefined
  const made = { rule: makeRule(name), isName: NAME.test(name), most: most ?? Number.MAX_SAFE_INTEGER }
  if (KNOWN.size < KNOWN_MAX) KNOWN.set(name, made)
  return made
}

function makeRule(name: string): FigureRule {
  const rate = Object.hasOwn(RATES, name) ? RATES[name] : undefined
  if (rate !== undefined) return { kind: 'counter', rate }
  for (const [prefix, kindRate] of Object.entries(KINDS))
    if (name.startsWith(`${prefix}.`)) return { kind: 'counter', rate: `${kindRate}${name.slice(prefix.length)}` }
  if (LEDGER.has(name)) return LEDGER_RULE
  return LARGEST.has(name) ? MAX_RULE : SUM_RULE
}
