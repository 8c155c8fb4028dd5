/** The command line of `npm start`, read once into a frozen object. */

import { PROFILES, type Profile } from '@bigtap/crowd/profiles'

/** What the operator asked for. Units are in the names; ratios are 0..1. */
export interface StartOptions {
  readonly exit: boolean
  readonly idle: boolean
  readonly kafka: boolean
  readonly help: boolean
  readonly report: string | undefined
  /** Files for the crowd's labels and antiblack's copy of the request log. */
  readonly labels: string | undefined
  readonly record: string | undefined
  /** Without one: people and simple scripts from one address, and no access limits. */
  readonly profile: Profile | 'mixed' | undefined
  readonly admission: 'direct' | 'queue' | 'draw'
  readonly challenge: 'off' | 'suspicious' | 'all'
  readonly buyers: number
  readonly bots: number
  readonly stock: number
  readonly skus: number
  readonly seed: number
  readonly portBase: number
  readonly limiters: number
  readonly middles: number
  readonly masters: number
  readonly routers: number
  readonly kills: readonly KillOrder[]
}

/** `--kill ROLE@SECOND`: kill -9 that process so many seconds after the opening. */
export interface KillOrder {
  readonly role: string
  readonly atMs: number
}

/** Outcome of reading the arguments: the options, or every mistake at once. */
export type ParsedArgs = { ok: true; options: StartOptions } | { ok: false; errors: string[] }

/** What `--help` prints. */
export const USAGE = `npm start -- [flags]
  --exit            run one sale, then stop everything; the exit code is 0 only if the sale was correct
  --idle            start the platform without a sale and without buyers
  --report FILE     write the report of the sale as JSON
  --buyers N        how many come to buy, bots among them (default 2000)
  --bots R          which share of them is scripted, 0..1 (default 0.3)
  --profile NAME    a crowd from many addresses: mixed, or one of normal, refresher, shared, script, farm, sharer,
                    guesser, slow (that one alone on its side, abusive or not)
  --labels FILE     write who abuses the sale, one JSON line a buyer
  --record FILE     copy antiblack's request log, for training
  --admission HOW   direct, queue or draw (default direct)
  --challenge WHOM  off, suspicious or all (default off)
  --stock N         units on sale, over all products together (default 200)
  --skus N          products (default 2)
  --seed N          the crowd's seed (default 1)
  --kafka           the event log on a real Kafka broker
  --port-base N     first port; all others follow it (default 8000)
  --limiters N      limiter processes (default 2)
  --middles N       Middle nodes (default 3)
  --masters N       masters, one leads and the others stand by (default 2)
  --routers N       routers of commands (default 2)
  --kill ROLE@S     kill -9 a process S seconds after the opening (limiter, middle, counter, cart, order, master,
                    router, dcacenter, antiblack, redis, postgres); may be repeated
  --help            this text`

const NUMBERS = {
  buyers: { initial: 2000, min: 1, max: 1_000_000, whole: true },
  bots: { initial: 0.3, min: 0, max: 1, whole: false },
  stock: { initial: 200, min: 1, max: 1_000_000, whole: true },
  skus: { initial: 2, min: 1, max: 100, whole: true },
  seed: { initial: 1, min: 0, max: 0xffff_ffff, whole: true },
  'port-base': { initial: 8000, min: 1024, max: 55_000, whole: true },
  limiters: { initial: 2, min: 1, max: 10, whole: true },
  middles: { initial: 3, min: 1, max: 16, whole: true },
  masters: { initial: 2, min: 1, max: 5, whole: true },
  routers: { initial: 2, min: 1, max: 5, whole: true },
} as const
const SWITCHES = ['exit', 'idle', 'kafka', 'help'] as const
const FILES = ['report', 'labels', 'record'] as const
const CHOICES = {
  profile: ['mixed', ...PROFILES],
  admission: ['direct', 'queue', 'draw'],
  challenge: ['off', 'suspicious', 'all'],
} as const
const ROLES = [
  ...['limiter', 'middle', 'counter', 'cart', 'order', 'master', 'router', 'dcacenter', 'antiblack', 'redis'],
  'postgres',
]

/** Reads the arguments after `npm start --`; reports all errors together. */
export function parseArgs(args: readonly string[]): ParsedArgs {
  const errors: string[] = []
  const numbers = new Map<string, number>(Object.entries(NUMBERS).map(([name, spec]) => [name, spec.initial]))
  const switches = new Set<string>()
  const kills: KillOrder[] = []
  const texts = new Map<string, string>()
  const queue = [...args]
  for (let argument = queue.shift(); argument !== undefined; argument = queue.shift()) {
    const [flag, inline] = splitFlag(argument)
    if (isOneOf(SWITCHES, flag)) switches.add(flag)
    else if (isOneOf(FILES, flag)) readFile(flag, inline ?? queue.shift(), texts, errors)
    else if (flag in CHOICES) readChoice(flag as keyof typeof CHOICES, inline ?? queue.shift(), texts, errors)
    else if (flag === 'kill') readKill(inline ?? queue.shift() ?? '', kills, errors)
    else if (flag in NUMBERS) readNumber(flag as keyof typeof NUMBERS, inline ?? queue.shift(), numbers, errors)
    else errors.push(`unknown flag ${argument}; --help lists them`)
  }
  if (switches.has('exit') && switches.has('idle')) errors.push('--exit and --idle exclude each other')
  if (errors.length > 0) return { ok: false, errors }
  const of = (name: keyof typeof NUMBERS) => numbers.get(name) ?? NUMBERS[name].initial
  const options: StartOptions = {
    exit: switches.has('exit'),
    idle: switches.has('idle'),
    kafka: switches.has('kafka'),
    help: switches.has('help'),
    report: texts.get('report'),
    labels: texts.get('labels'),
    record: texts.get('record'),
    profile: choiceOf('profile', texts),
    admission: choiceOf('admission', texts) ?? 'direct',
    challenge: choiceOf('challenge', texts) ?? 'off',
    buyers: of('buyers'),
    bots: of('bots'),
    stock: of('stock'),
    skus: of('skus'),
    seed: of('seed'),
    portBase: of('port-base'),
    limiters: of('limiters'),
    middles: of('middles'),
    masters: of('masters'),
    routers: of('routers'),
    kills,
  }
  return { ok: true, options: Object.freeze(options) }
}

function splitFlag(argument: string): [flag: string, inline: string | undefined] {
  if (!argument.startsWith('--')) return ['', undefined]
  const equals = argument.indexOf('=')
  return equals < 0 ? [argument.slice(2), undefined] : [argument.slice(2, equals), argument.slice(equals + 1)]
}

function readNumber(
  flag: keyof typeof NUMBERS,
  text: string | undefined,
  into: Map<string, number>,
  errors: string[],
): void {
  const { min, max, whole } = NUMBERS[flag]
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text)
  const fits = value >= min && value <= max && (!whole || Number.isInteger(value))
  if (fits) into.set(flag, value)
  else errors.push(`--${flag} needs a ${whole ? 'whole ' : ''}number from ${min} to ${max}, not ${text ?? 'nothing'}`)
}

function readKill(text: string, kills: KillOrder[], errors: string[]): void {
  const [role = '', second = ''] = text.split('@')
  const seconds = Number(second)
  const isGood = ROLES.includes(role) && second !== '' && seconds >= 0 && seconds <= 600
  if (isGood) kills.push({ role, atMs: seconds * 1000 })
  else errors.push(`--kill needs ROLE@SECOND with one of ${ROLES.join(', ')}, not ${text || 'nothing'}`)
}

function readFile(flag: string, text: string | undefined, into: Map<string, string>, errors: string[]): void {
  if (text === undefined || text === '') errors.push(`--${flag} needs a file name`)
  else into.set(flag, text)
}

type Choices = typeof CHOICES

function readChoice(flag: keyof Choices, text: string | undefined, into: Map<string, string>, errors: string[]): void {
  if (text !== undefined && isOneOf(CHOICES[flag], text)) into.set(flag, text)
  else errors.push(`--${flag} needs one of ${CHOICES[flag].join(', ')}, not ${text ?? 'nothing'}`)
}

function choiceOf<K extends keyof Choices>(
  flag: K,
  texts: ReadonlyMap<string, string>,
): Choices[K][number] | undefined {
  const all: readonly Choices[K][number][] = CHOICES[flag]
  return all.find((choice) => choice === texts.get(flag))
}

function isOneOf<T extends string>(all: readonly T[], text: string): text is T {
  return (all as readonly string[]).includes(text)
}
