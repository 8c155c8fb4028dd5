/** Commands that read figures. */

import { GlobBudget, PATTERN_CHARS_MAX, parseGlob } from '../core/glob.ts'
import type { Fields } from '../core/shape.ts'
import type { Call, Command } from './command.ts'

/** Steps of matching in one KEYS or SCAN: 65,536 keys of 40 characters against a plain pattern take a sixth. */
export const MATCH_STEPS_MAX = 16_000_000
/** Most keys that one SCAN looks at. */
export const SCAN_COUNT_MAX = 10_000
const SCAN_COUNT = 10

const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value'
const ANY = Number.POSITIVE_INFINITY

/** EXISTS, TYPE, KEYS, SCAN, GET, MGET, HGET, HGETALL and HKEYS. */
export const FIGURE_COMMANDS: readonly Command[] = [
  {
    name: 'exists',
    args: [1, ANY],
    keys: [1, -1],
    run: ({ args, writer, context }) =>
      writer.integer(args.filter((key) => context.keyspace.type(key) !== 'none').length),
  },
  {
    name: 'type',
    args: [1, 1],
    keys: [1, 1],
    run: ({ args: [key = ''], writer, context }) => writer.simple(context.keyspace.type(key)),
  },
  {
    name: 'keys',
    args: [1, 1],
    run: (call) => {
      const keys = matching(call, [...call.context.keyspace.keys()], call.args[0])
      if (keys !== undefined) call.writer.bulks(keys)
    },
  },
  { name: 'scan', args: [1, 7], run: scan },
  {
    name: 'get',
    args: [1, 1],
    keys: [1, 1],
    run: ({ args: [key = ''], writer, context: { keyspace } }) => {
      const text = keyspace.text(key)
      if (text !== undefined) writer.bulk(text)
      else if (keyspace.type(key) === 'hash') writer.error(WRONG_TYPE)
      else writer.null()
    },
  },
  {
    name: 'mget',
    args: [1, ANY],
    keys: [1, -1],
    run: ({ args, writer, context }) => {
      writer.array(args.length)
      for (const key of args) {
        const text = context.keyspace.text(key)
        if (text === undefined) writer.null()
        else writer.bulk(text)
      }
    },
  },
  {
    name: 'hget',
    args: [2, 2],
    keys: [1, 1],
    run: (call) =>
      withHash(call, (fields) => {
        const value = fields.get(call.args[1] ?? '')
        if (value === undefined) call.writer.null()
        else call.writer.bulk(String(value))
      }),
  },
  {
    name: 'hgetall',
    args: [1, 1],
    keys: [1, 1],
    run: (call) =>
      withHash(call, (fields) => {
        call.writer.map(fields.size)
        for (const [name, value] of fields) {
          call.writer.bulk(name)
          call.writer.bulk(String(value))
        }
      }),
  },
  {
    name: 'hkeys',
    args: [1, 1],
    keys: [1, 1],
    run: (call) => withHash(call, (fields) => call.writer.bulks([...fields.keys()])),
  },
]

/** A key that is not there is an empty hash; one of another type is an error. */
function withHash({ args: [key = ''], writer, context: { keyspace } }: Call, write: (fields: Fields) => void): void {
  const fields = keyspace.hash(key)
  if (fields === undefined && keyspace.type(key) === 'string') writer.error(WRONG_TYPE)
  else write(fields ?? new Map())
}

/** SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]. */
function scan(call: Call): void {
  const { args, writer, context } = call
  const [cursor = '', ...options] = args
  const wish = /^\d{1,15}$/.test(cursor) ? scanWish(options) : 'ERR invalid cursor'
  if (typeof wish === 'string') {
    writer.error(wish)
    return
  }
  const { next, keys } = context.keyspace.scan(Number(cursor), wish.count)
  const typed = wish.type === undefined ? keys : keys.filter((key) => context.keyspace.type(key) === wish.type)
  const found = matching(call, typed, wish.pattern)
  if (found === undefined) return
  writer.array(2)
  writer.bulk(String(next))
  writer.bulks(found)
}

interface ScanWish {
  pattern: string | undefined
  count: number
  type: string | undefined
}

/** The options of SCAN, or the error. */
function scanWish(options: readonly string[]): ScanWish | string {
  const wish: ScanWish = { pattern: undefined, count: SCAN_COUNT, type: undefined }
  for (let at = 0; at < options.length; at += 2) {
    const [option, value] = [options[at]?.toLowerCase(), options[at + 1]]
    if (value === undefined) return 'ERR syntax error'
    if (option === 'match') wish.pattern = value
    else if (option === 'type') wish.type = value.toLowerCase()
    else if (option === 'count' && /^[1-9]\d{0,8}$/.test(value)) wish.count = Math.min(Number(value), SCAN_COUNT_MAX)
    else return 'ERR syntax error'
  }
  return wish
}

/** The keys that fit; undefined when the pattern takes too much work, and the error is written. */
function matching({ writer }: Call, keys: readonly string[], pattern: string | undefined): string[] | undefined {
  if (pattern === undefined || pattern === '*') return [...keys]
  if (pattern.length > PATTERN_CHARS_MAX) {
    writer.error(`ERR pattern of ${pattern.length} characters exceeds ${PATTERN_CHARS_MAX}`)
    return undefined
  }
  const glob = parseGlob(pattern)
  const budget = new GlobBudget(MATCH_STEPS_MAX)
  const found = keys.filter((key) => glob.matches(key, budget))
  if (!budget.isSpent) return found
  writer.error('ERR pattern takes too much work')
  return undefined
}
