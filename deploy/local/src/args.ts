/** The command line of `npm start`, read once into a frozen object. */

/** What the operator asked for. Units are in the names; ratios are 0..1. */
export interface StartOptions {
  readonly exit: boolean
  readonly idle: boolean
  readonly kafka: boolean
  readonly help: boolean
  readonly report: string | undefined
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
                    router, dcacenter, redis, postgres); may be repeated
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
const ROLES = [
  ...['limiter', 'middle', 'counter', 'cart', 'order', 'master', 'router', 'dcacenter', 'redis', 'postgres'],
]

/** Reads the arguments after `npm start --`; reports all errors together. */
export function parseArgs(args: readonly string[]): ParsedArgs {
  const errors: string[] = []
  const numbers = new Map<string, number>(Object.entries(NUMBERS).map(([name, spec]) => [name, spec.initial]))
  const switches = new Set<string>()
  const kills: KillOrder[] = []
  let report: string | undefined
  const queue = [...args]
  for (let argument = queue.shift(); argument !== undefined; argument = queue.shift()) {
    const [flag, inline] = splitFlag(argument)
    if ((SWITCHES as readonly string[]).includes(flag)) switches.add(flag)
    else if (flag === 'report') report = inline ?? queue.shift() ?? fault(errors, '--report needs a file name')
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
    report,
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

function fault(errors: string[], message: string): undefined {
  errors.push(message)
  return undefined
}
