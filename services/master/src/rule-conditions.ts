/** Conditions of rules in CEL (https://cel.dev): bounded, compiled when a rule is stored, tried on each tick. */

import type { Parsed } from '@bigtap/domain'
import { type CelInput, CelScalar, celEnv, celFunc, isCelError, mapType, parse, plan } from '@bufbuild/cel'
import { RULE_LIMITS } from './core/rules.ts'

/** Figures by name; all numbers are doubles in CEL, and may be mixed with whole ones. */
export type Figures = Readonly<Record<string, number | string | boolean>>
/** What a condition sees. */
export interface ConditionInput {
  readonly totals: Figures
  readonly sku?: Figures
  readonly node?: Figures
}

/** A compiled condition. */
export interface Condition {
  /** The variables that it names. */
  readonly uses: readonly Variable[]
  /** True or false, or a text that says why it is neither. */
  test(input: ConditionInput): boolean | string
  /** The figures that it names, as they are. */
  shown(input: ConditionInput): Record<string, unknown>
}

type Variable = 'totals' | 'sku' | 'node'

const VARIABLES: readonly Variable[] = ['totals', 'sku', 'node']
/** Loops within loops of a short text can take for ever: one is allowed. */
const LOOPS_DEEP_MAX = 1
const NODES_MAX = 500
const FIGURES = mapType(CelScalar.STRING, CelScalar.DYN)
const { DOUBLE, INT } = CelScalar
const ARITHMETIC = {
  '_+_': (a: number, b: number) => a + b,
  '_-_': (a: number, b: number) => a - b,
  '_*_': (a: number, b: number) => a * b,
  '_/_': (a: number, b: number) => a / b,
}
/** CEL does not mix 1 and 1.0 in arithmetic; operators do. */
const MIXED = Object.entries(ARITHMETIC).flatMap(([name, step]) => [
  celFunc(name, [DOUBLE, INT], DOUBLE, (a, b) => step(a, Number(b))),
  celFunc(name, [INT, DOUBLE], DOUBLE, (a, b) => step(Number(a), b)),
])
const ENV = celEnv({ variables: { totals: FIGURES, sku: FIGURES, node: FIGURES }, funcs: MIXED })

/** Compiles a condition, or says what is wrong with it. */
export function compileCondition(when: string): Parsed<Condition> {
  if (when.length > RULE_LIMITS.whenLengthMax)
    return { ok: false, errors: [`when has ${when.length} characters, more than ${RULE_LIMITS.whenLengthMax}`] }
  try {
    const parsed = parse(when)
    const found = look(parsed.expr)
    const uses = VARIABLES.filter((name) => found.names.has(name))
    const errors = errorsOf(found, uses)
    if (errors.length > 0) return { ok: false, errors }
    const run = plan(ENV, parsed)
    const test = (input: ConditionInput) => resultOf(() => run(bindings(input)))
    return { ok: true, value: { uses, test, shown: (input) => shownOf(input, found.paths) } }
  } catch (error) {
    return { ok: false, errors: [`when is no CEL: ${said(error)}`] }
  }
}

function bindings({ totals, sku = {}, node = {} }: ConditionInput): Record<Variable, CelInput<typeof FIGURES>> {
  return { totals, sku, node }
}

function resultOf(run: () => unknown): boolean | string {
  try {
    const value = run()
    if (typeof value === 'boolean') return value
    return isCelError(value) ? said(value) : `the condition is neither true nor false but ${typeof value}`
  } catch (error) {
    return said(error)
  }
}

interface Found {
  readonly names: Set<string>
  /** `sku.free` and the like. */
  readonly paths: Set<string>
  loopsDeep: number
  nodes: number
}

function errorsOf({ names, loopsDeep, nodes }: Found, uses: readonly Variable[]): string[] {
  const errors: string[] = []
  const strangers = [...names].filter((name) => !(VARIABLES as readonly string[]).includes(name))
  if (strangers.length > 0)
    errors.push(`when names ${strangers.slice(0, 5).join(', ')}; there are totals, sku and node`)
  if (uses.length === 0) errors.push('when names none of totals, sku and node')
  if (uses.includes('sku') && uses.includes('node')) errors.push('when names sku and node; one of them is allowed')
  if (loopsDeep > LOOPS_DEEP_MAX) errors.push('when has a loop within a loop')
  if (nodes > NODES_MAX) errors.push(`when has more than ${NODES_MAX} parts`)
  return errors
}

/** Walks the tree of an expression; it is plain data. */
function look(expr: unknown): Found {
  const found: Found = { names: new Set(), paths: new Set(), loopsDeep: 0, nodes: 0 }
  walk(expr, found, { bound: new Set(), loops: 0 })
  return found
}

interface Scope {
  readonly bound: ReadonlySet<string>
  readonly loops: number
}

function walk(value: unknown, found: Found, scope: Scope): void {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return
  if (Array.isArray(value)) {
    for (const item of value) walk(item, found, scope)
    return
  }
  const { case: kind, value: inner } = value as { case?: string; value?: Record<string, unknown> }
  if (kind === undefined || inner === undefined) {
    for (const item of Object.values(value)) walk(item, found, scope)
    return
  }
  found.nodes++
  let within = scope
  if (kind === 'identExpr' && !scope.bound.has(String(inner.name))) found.names.add(String(inner.name))
  if (kind === 'selectExpr') notePath(inner, found)
  if (kind === 'comprehensionExpr') {
    const bound = new Set([...scope.bound, String(inner.iterVar), String(inner.iterVar2), String(inner.accuVar)])
    within = { bound, loops: scope.loops + 1 }
    found.loopsDeep = Math.max(found.loopsDeep, within.loops)
  }
  for (const item of Object.values(inner)) walk(item, found, within)
}

function notePath({ operand, field }: Record<string, unknown>, found: Found): void {
  const { exprKind } = (operand ?? {}) as { exprKind?: { case?: string; value?: { name?: string } } }
  if (exprKind?.case === 'identExpr' && found.paths.size < 16)
    found.paths.add(`${exprKind.value?.name}.${String(field)}`)
}

function shownOf(input: ConditionInput, paths: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(
    [...paths].map((path) => {
      const [variable = '', field = ''] = path.split('.')
      return [path, input[variable as Variable]?.[field]]
    }),
  )
}

function said(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 300)
}
