/**
 * Settings from `BIGTAP_*` environment variables: read once into a frozen object, all errors reported together.
 * Each service's `config.ts` exports its specification as `settings`, from which docs/SETTINGS.md is made.
 */

import { readFileSync } from 'node:fs'

/** One setting: its variable, how its text is read, and what it means. */
export interface Setting<T> {
  readonly variable: string
  readonly doc: string
  readonly kind: string
  readonly initial: T | undefined
  readonly isSecret: boolean
  /** Throws an Error whose message says what is wanted. */
  readonly read: (text: string) => T
  readonly isOptional: boolean
}

/** A specification: the names of the program and their settings. */
export type SettingsSpec = Readonly<Record<string, Setting<unknown>>>
/** The values that a specification reads to. */
export type SettingsOf<Spec extends SettingsSpec> = {
  readonly [Name in keyof Spec]: Spec[Name] extends Setting<infer T> ? T : never
}

/** What a setting is declared with. */
export interface Declaration<T> {
  readonly doc: string
  readonly default?: T
}

/** All that is wrong with the settings, one line each. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  readonly errors: readonly string[]

  constructor(errors: readonly string[]) {
    super(`bad settings:\n${errors.map((error) => `  ${error}`).join('\n')}`)
    this.errors = errors
  }
}

const INT_MAX = Number.MAX_SAFE_INTEGER
const SECRET_LENGTH_MIN = 8

function declare<T>(kind: string, read: (text: string) => T) {
  return (variable: string, { doc, default: initial }: Declaration<T>): Setting<T> => ({
    variable,
    doc,
    kind,
    initial,
    read,
    isSecret: false,
    isOptional: false,
  })
}

function bounded(what: string, min: number, max: number) {
  return (text: string): number => {
    const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new Error(`${what} from ${min} to ${max}`)
  }
}

/** The kinds of settings. A setting without a default must be given. */
export const setting = {
  string: declare('text', (text) => text),
  port: declare('port', bounded('a port', 0, 65_535)),
  int: declare('whole number', bounded('a whole number', 0, INT_MAX)),
  durationMs: declare('milliseconds', bounded('milliseconds', 0, 86_400_000)),
  number: declare('number', (text) => {
    const value = Number(text)
    if (text.trim() !== '' && Number.isFinite(value)) return value
    throw new Error('a number')
  }),
  boolean: declare('on or off', (text) => {
    if (['on', 'true', '1'].includes(text)) return true
    if (['off', 'false', '0', ''].includes(text)) return false
    throw new Error('on or off')
  }),
  list: declare('comma-separated list', (text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  ),
  /** A secret: also from the file that `<VARIABLE>_FILE` names; its default works only with BIGTAP_DEV=on. */
  secret: (variable: string, declaration: Declaration<string>): Setting<string> => ({
    ...declare('secret', readSecret)(variable, declaration),
    isSecret: true,
  }),
  /** A text that may be missing. */
  optional: (variable: string, { doc }: { doc: string }): Setting<string | undefined> => ({
    ...declare<string | undefined>('text, may be missing', (text) => text)(variable, { doc }),
    isOptional: true,
  }),
  /** A secret that may be missing. */
  optionalSecret: (variable: string, { doc }: { doc: string }): Setting<string | undefined> => ({
    ...declare<string | undefined>('secret, may be missing', readSecret)(variable, { doc }),
    isOptional: true,
    isSecret: true,
  }),
}

/** Declares a specification; only gives it its type. */
export function defineSettings<const Spec extends SettingsSpec>(spec: Spec): Spec {
  return spec
}

/** Reads the settings; throws a SettingsError with everything that is wrong. */
export function loadSettings<Spec extends SettingsSpec>(
  spec: Spec,
  env: Readonly<Record<string, string | undefined>>,
): SettingsOf<Spec> {
  const errors: string[] = []
  const isDev = env.BIGTAP_DEV === 'on'
  const values = Object.entries(spec).map(([name, one]) => [name, readOne(one, env, isDev, errors)] as const)
  if (errors.length > 0) throw new SettingsError(errors)
  return Object.freeze(Object.fromEntries(values)) as SettingsOf<Spec>
}

/** The values with their secrets masked, for /debug/config. */
export function maskSettings(spec: SettingsSpec, values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(spec).map(([name, one]) => [one.variable, hasSecret(one, values[name]) ? '***' : values[name]]),
  )
}

/** One row for each setting, for docs/SETTINGS.md. */
export function describeSettings(spec: SettingsSpec): string[] {
  return Object.values(spec).map(({ variable, kind, initial, doc, isSecret, isOptional }) => {
    const shown = isSecret && initial !== undefined ? 'only with `BIGTAP_DEV=on`' : `\`${String(initial)}\``
    return `| \`${variable}\` | ${kind} | ${initial === undefined ? (isOptional ? '-' : 'must be given') : shown} | ${doc} |`
  })
}

function readOne(
  one: Setting<unknown>,
  env: Readonly<Record<string, string | undefined>>,
  isDev: boolean,
  errors: string[],
): unknown {
  const text = textOf(one, env, errors)
  if (text === undefined) {
    if (one.isSecret && one.initial !== undefined && !isDev)
      errors.push(`${one.variable} must be given (its default is only for BIGTAP_DEV=on)`)
    else if (one.initial === undefined && !one.isOptional) errors.push(`${one.variable} must be given: ${one.doc}`)
    return one.initial
  }
  if (one.isSecret && text === one.initial && !isDev) {
    errors.push(`${one.variable} must not be the default that everybody knows`)
    return undefined
  }
  try {
    return one.read(text)
  } catch (error) {
    const wanted = error instanceof Error ? error.message : String(error)
    errors.push(`${one.variable} must be ${wanted}, not ${one.isSecret ? 'what was given' : JSON.stringify(text)}`)
    return undefined
  }
}

/** An empty text is as good as none: compose files pass on what is not set as ''. */
function textOf(
  one: Setting<unknown>,
  env: Readonly<Record<string, string | undefined>>,
  errors: string[],
): string | undefined {
  const file = one.isSecret ? env[`${one.variable}_FILE`] : undefined
  if (file === undefined || file === '') return env[one.variable] || undefined
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    errors.push(
      `${one.variable}_FILE names a file that cannot be read: ${error instanceof Error ? error.message : error}`,
    )
    return undefined
  }
}

function readSecret(text: string): string {
  if (text.length >= SECRET_LENGTH_MIN) return text
  throw new Error(`a secret of at least ${SECRET_LENGTH_MIN} characters`)
}

/** A connection URL carries its password with it. */
function hasSecret(one: Setting<unknown>, value: unknown): boolean {
  if (value === undefined) return false
  return one.isSecret || (typeof value === 'string' && /^[a-z]+:\/\/[^/]*:[^/]*@/.test(value))
}
