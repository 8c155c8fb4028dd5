import { beforeEach, describe, expect, test } from 'vitest'
import type { Fields } from '../core/shape.ts'
import type { CommandContext } from './command.ts'
import { runCommand } from './commands.ts'
import { AUTH_FAILURES_MAX, CHANNELS_MAX, PATTERNS_MAX, Session } from './session.ts'

const HASHES: Readonly<Record<string, Fields>> = {
  totals: new Map<string, number | string>([
    ['free', 5],
    ['state', 'ok'],
  ]),
}
const TEXTS: Readonly<Record<string, string>> = { 'series:totals:free': '[[1,5]]' }
const KEYS = [...Object.keys(HASHES), ...Object.keys(TEXTS)]

const context: CommandContext = {
  keyspace: {
    type: (key) => (key in HASHES ? 'hash' : key in TEXTS ? 'string' : 'none'),
    hash: (key) => HASHES[key],
    text: (key) => TEXTS[key],
    keys: () => KEYS.values(),
    scan: (cursor, count) => ({
      next: cursor + count < KEYS.length ? cursor + count : 0,
      keys: KEYS.slice(cursor, cursor + count),
    }),
  },
  isPassword: undefined,
  info: () => ({ server: { redis_version: '7.0.0' }, persistence: { loading: 0 } }),
}

let session: Session

beforeEach(() => {
  session = new Session({ id: 7, isTrusted: true })
})

/** The reply to a line, with its line breaks shown as spaces. */
function say(line: string, more: Partial<CommandContext> = {}): string {
  runCommand(line.split(' '), session, { ...context, ...more })
  return session.writer.take().replaceAll('\r\n', ' ').trim()
}

describe('reading', () => {
  test.each([
    ['PING', '+PONG'],
    ['ping hello', '$5 hello'],
    ['EXISTS totals totals nothing', ':2'],
    ['TYPE totals', '+hash'],
    ['TYPE series:totals:free', '+string'],
    ['TYPE nothing', '+none'],
    ['KEYS *', '*2 $6 totals $18 series:totals:free'],
    ['KEYS t*', '*1 $6 totals'],
    ['SCAN 0', '*2 $1 0 *2 $6 totals $18 series:totals:free'],
    ['SCAN 0 COUNT 1', '*2 $1 1 *1 $6 totals'],
    ['SCAN 0 TYPE string MATCH s*', '*2 $1 0 *1 $18 series:totals:free'],
    ['SCAN x', '-ERR invalid cursor'],
    ['SCAN 0 COUNT 0', '-ERR syntax error'],
    ['SCAN 0 MATCH', '-ERR syntax error'],
    ['GET series:totals:free', '$7 [[1,5]]'],
    ['GET nothing', '$-1'],
    ['GET totals', '-WRONGTYPE Operation against a key holding the wrong kind of value'],
    ['MGET series:totals:free totals', '*2 $7 [[1,5]] $-1'],
    ['HGET totals free', '$1 5'],
    ['HGET totals none', '$-1'],
    ['HGET nothing free', '$-1'],
    ['HGET series:totals:free x', '-WRONGTYPE Operation against a key holding the wrong kind of value'],
    ['HGETALL totals', '*4 $4 free $1 5 $5 state $2 ok'],
    ['HGETALL nothing', '*0'],
    ['HKEYS totals', '*2 $4 free $5 state'],
    ['SELECT 0', '+OK'],
    ['SELECT 1', '-ERR DB index is out of range'],
    ['CLIENT SETINFO LIB-NAME x', '+OK'],
    ['CLIENT ID', ':7'],
    ['CLIENT KILL', "-ERR unknown subcommand 'KILL'"],
    ['COMMAND COUNT', ':21'],
    ['COMMAND DOCS', '*0'],
    ['COMMAND INFO hget nothing', '*2 *6 $4 hget :3 *2 +readonly +fast :1 :1 :1 $-1'],
    ['HGET totals', "-ERR wrong number of arguments for 'hget' command"],
    ['SET a b', "-ERR unknown command 'SET', with args beginning with: 'a' 'b'"],
  ])('%s', (line, reply) => {
    expect(say(line)).toBe(reply)
  })

  test('INFO has what clients look for, whole or by section', () => {
    expect(say('INFO')).toContain('redis_version:7.0.0')
    expect(say('INFO persistence')).toMatch(/^\$\d+ # Persistence loading:0$/)
  })

  test('in RESP3 hashes are maps and what is missing is null', () => {
    expect(say('HELLO 3')).toBe(
      '%7 $6 server $5 redis $7 version $5 7.0.0 $5 proto :3 $2 id :7 $4 mode $10 standalone $4 role $6 master $7 modules *0',
    )

    expect(say('HGETALL totals')).toBe('%2 $4 free $1 5 $5 state $2 ok')
    expect(say('GET nothing')).toBe('_')
  })

  test('a pattern that takes too much work, and one that is too long, are refused', () => {
    const keyspace = { ...context.keyspace, keys: () => new Array(2_000).fill('a'.repeat(200)).values() }

    expect(say(`KEYS *${'a'.repeat(100)}b`, { keyspace })).toBe('-ERR pattern takes too much work')
    expect(say(`KEYS ${'a'.repeat(257)}`)).toBe('-ERR pattern of 257 characters exceeds 256')
  })
})

describe('who may read', () => {
  const locked = { isPassword: (text: string) => text === 'right' }

  beforeEach(() => {
    session = new Session({ id: 7, isTrusted: false })
  })

  test('without the password nothing is told', () => {
    for (const line of ['PING', 'HGETALL totals', 'SUBSCRIBE tick', 'NOTHING'])
      expect(say(line, locked)).toBe('-NOAUTH Authentication required.')
    expect(say('HELLO 3', locked)).toMatch(/^-NOAUTH/)
    expect(session.writer.version).toBe(2)
  })

  test('with it everything is, by AUTH or by HELLO', () => {
    expect(say('AUTH right', locked)).toBe('+OK')
    expect(say('PING', locked)).toBe('+PONG')

    session = new Session({ id: 8, isTrusted: false })
    expect(say('HELLO 3 AUTH default right SETNAME me', locked)).toMatch(/^%7/)
    expect(say('CLIENT GETNAME', locked)).toBe('$2 me')
  })

  test('another user, or another password, is refused, and who errs five times is sent away', () => {
    expect(say('AUTH somebody right', locked)).toMatch(/^-WRONGPASS/)
    expect(session.isTrusted).toBe(false)

    for (let failure = 1; failure < AUTH_FAILURES_MAX; failure++) {
      expect(session.isLeaving).toBe(false)
      say('AUTH wrong', locked)
    }

    expect(session.isLeaving).toBe(true)
  })

  test('where there is no password, AUTH says so and HELLO takes any', () => {
    session = new Session({ id: 7, isTrusted: true })

    expect(say('AUTH x')).toMatch(/^-ERR AUTH <password> called without any password/)
    expect(say('HELLO 2 AUTH default x')).toMatch(/^\*14/)
  })

  test.each([
    ['HELLO 4', '-NOPROTO unsupported protocol version'],
    ['HELLO x', '-ERR Protocol version is not an integer or out of range'],
    ['HELLO 3 FOO', "-ERR Syntax error in HELLO option 'FOO'"],
  ])('%s', (line, reply) => {
    session = new Session({ id: 7, isTrusted: true })

    expect(say(line)).toBe(reply)
  })
})

describe('listening', () => {
  test('in RESP2 one who listens may only go on listening, say PING or leave', () => {
    expect(say('SUBSCRIBE tick sku:1:2')).toBe('*3 $9 subscribe $4 tick :1 *3 $9 subscribe $7 sku:1:2 :2')
    expect(say('HGETALL totals')).toMatch(/^-ERR Can't execute 'hgetall'/)
    expect(say('PING')).toBe('*2 $4 pong $0')
    expect(say('UNSUBSCRIBE')).toBe('*3 $11 unsubscribe $4 tick :1 *3 $11 unsubscribe $7 sku:1:2 :0')
    expect(say('PING')).toBe('+PONG')
    expect(say('UNSUBSCRIBE')).toBe('*3 $11 unsubscribe $-1 :0')
  })

  test('in RESP3 it may say everything', () => {
    say('HELLO 3')

    expect(say('SUBSCRIBE tick')).toBe('>3 $9 subscribe $4 tick :1')
    expect(say('HGET totals free')).toBe('$1 5')
  })

  test('messages come for the channel and for each pattern', () => {
    say('SUBSCRIBE sku:1:2')
    say('PSUBSCRIBE sku:* tick')
    session.deliver('sku:1:2', '{}')

    expect(session.writer.take().replaceAll('\r\n', ' ').trim()).toBe(
      '*3 $7 message $7 sku:1:2 $2 {} *4 $8 pmessage $5 sku:* $7 sku:1:2 $2 {}',
    )
    expect([session.wants('tick'), session.wants('node')]).toEqual([true, false])
    expect(say('PUNSUBSCRIBE sku:*')).toBe('*3 $12 punsubscribe $5 sku:* :2')
  })

  test('there is a most of channels and of patterns', () => {
    for (let channel = 0; channel < CHANNELS_MAX; channel++) session.subscribe(`c${channel}`)
    for (let pattern = 0; pattern < PATTERNS_MAX; pattern++) session.psubscribe(`p${pattern}*`)

    expect(say('SUBSCRIBE one-more')).toMatch(/^-ERR more than 1024 channels/)
    expect(say('PSUBSCRIBE one-more')).toMatch(/^-ERR more than 16 patterns/)
    expect(say('SUBSCRIBE c1')).toMatch(/^\*3/)
  })
})

test('QUIT is answered, then the connection ends', () => {
  expect(say('QUIT')).toBe('+OK')
  expect(session.isLeaving).toBe(true)
})
