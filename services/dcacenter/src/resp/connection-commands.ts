/** Commands about the connection itself. */

import type { Call, Command } from './command.ts'
import { AUTH_FAILURES_MAX } from './session.ts'
import type { RespVersion } from './writer.ts'

/** The version that we say we are: clients choose by it what they may ask for. */
export const REDIS_VERSION = '7.0.0'

const USER = 'default'

/** PING, AUTH, HELLO, SELECT, INFO, CLIENT and QUIT. */
export const CONNECTION_COMMANDS: readonly Command[] = [
  {
    name: 'ping',
    args: [0, 1],
    isForListeners: true,
    run: ({ args: [text], session, writer }) => {
      if (session.isListening) writer.bulks(['pong', text ?? ''])
      else if (text === undefined) writer.simple('PONG')
      else writer.bulk(text)
    },
  },
  {
    name: 'auth',
    args: [1, 2],
    isOpen: true,
    run: (call) => {
      const [first = '', second] = call.args
      if (call.context.isPassword === undefined)
        call.writer.error('ERR AUTH <password> called without any password configured for the default user.')
      else if (authenticate(call, second === undefined ? USER : first, second ?? first)) call.writer.simple('OK')
    },
  },
  { name: 'hello', args: [0, 7], isOpen: true, run: hello },
  {
    name: 'select',
    args: [1, 1],
    run: ({ args: [index], writer }) => {
      if (index === '0') writer.simple('OK')
      else writer.error('ERR DB index is out of range')
    },
  },
  {
    name: 'info',
    args: [0, 8],
    run: ({ args, writer, context }) => {
      const wanted = args.map((arg) => arg.toLowerCase())
      const isWanted = (section: string) =>
        wanted.length === 0 || wanted.some((one) => ['all', 'everything', 'default', section].includes(one))
      const sections = Object.entries(context.info()).filter(([section]) => isWanted(section))
      writer.bulk(sections.map(([section, lines]) => infoText(section, lines)).join('\r\n'))
    },
  },
  {
    // Clients introduce themselves; nothing depends on it.
    name: 'client',
    args: [1, 3],
    run: ({ args: [what = '', text = ''], session, writer }) => {
      const verb = what.toLowerCase()
      if (verb === 'setname') session.name = text.slice(0, 64)
      if (verb === 'setname' || verb === 'setinfo') writer.simple('OK')
      else if (verb === 'getname') writer.bulk(session.name)
      else if (verb === 'id') writer.integer(session.id)
      else writer.error(`ERR unknown subcommand '${what.slice(0, 64)}'`)
    },
  },
  {
    name: 'quit',
    args: [0, 0],
    isOpen: true,
    isForListeners: true,
    run: ({ session, writer }) => {
      writer.simple('OK')
      session.isLeaving = true
    },
  },
]

/** HELLO [version [AUTH user password] [SETNAME name]]: all or nothing. */
function hello(call: Call): void {
  const { args, session, writer } = call
  const [version, ...options] = args
  if (version !== undefined && version !== '2' && version !== '3') {
    writer.error(/^\d+$/.test(version) ? 'NOPROTO unsupported protocol version' : NO_VERSION)
    return
  }
  let name = session.name
  for (let at = 0; at < options.length; ) {
    const option = options[at]?.toLowerCase()
    const [first, second] = options.slice(at + 1, at + 3)
    if (option === 'auth' && first !== undefined && second !== undefined) {
      if (!authenticate(call, first, second)) return
      at += 3
    } else if (option === 'setname' && first !== undefined) {
      name = first.slice(0, 64)
      at += 2
    } else {
      writer.error(`ERR Syntax error in HELLO option '${options[at]?.slice(0, 64)}'`)
      return
    }
  }
  if (!session.isTrusted) {
    writer.error('NOAUTH HELLO must be called with the client already authenticated')
    return
  }
  session.name = name
  if (version !== undefined) writer.version = Number(version) as RespVersion
  greet(call)
}

const NO_VERSION = 'ERR Protocol version is not an integer or out of range'

function greet({ session, writer }: Call): void {
  const fields: [string, string | number][] = [
    ['server', 'redis'],
    ['version', REDIS_VERSION],
    ['proto', writer.version],
    ['id', session.id],
    ['mode', 'standalone'],
    ['role', 'master'],
  ]
  writer.map(fields.length + 1)
  for (const [name, value] of fields) {
    writer.bulk(name)
    if (typeof value === 'number') writer.integer(value)
    else writer.bulk(value)
  }
  writer.bulk('modules')
  writer.array(0)
}

/** Writes the error when it is the wrong one; who errs too often is sent away. Without a password everybody is welcome. */
function authenticate({ session, writer, context }: Call, user: string, password: string): boolean {
  const { isPassword } = context
  if (isPassword === undefined || (isPassword(password) && user === USER)) {
    session.isTrusted = true
    return true
  }
  session.authFailures++
  session.isLeaving = session.authFailures >= AUTH_FAILURES_MAX
  writer.error('WRONGPASS invalid username-password pair or user is disabled.')
  return false
}

function infoText(section: string, lines: Readonly<Record<string, string | number>>): string {
  const title = `# ${section[0]?.toUpperCase()}${section.slice(1)}`
  return [title, ...Object.entries(lines).map(([name, value]) => `${name}:${value}`), ''].join('\r\n')
}
