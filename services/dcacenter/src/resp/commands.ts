/** The commands that dcacenter knows: a table of names, with what each does. It only reads. */

import type { Command, CommandContext } from './command.ts'
import { CONNECTION_COMMANDS } from './connection-commands.ts'
import { FIGURE_COMMANDS } from './figure-commands.ts'
import { LISTEN_COMMANDS } from './listen-commands.ts'
import type { Session } from './session.ts'
import type { RespWriter } from './writer.ts'

const ANY = Number.POSITIVE_INFINITY

const COMMAND: Command = {
  name: 'command',
  args: [0, ANY],
  run: ({ args, writer }) => {
    const [what = '', ...names] = args
    const all = [...COMMANDS.values()]
    if (what.toLowerCase() === 'count') writer.integer(all.length)
    else if (what.toLowerCase() === 'docs') writer.map(0)
    else if (what === '') describeAll(writer, all)
    else if (what.toLowerCase() === 'info')
      describeAll(writer, names.length === 0 ? all : names.map((name) => COMMANDS.get(name.toLowerCase())))
    else writer.error(`ERR unknown subcommand '${what.slice(0, 64)}'`)
  },
}

const COMMANDS: ReadonlyMap<string, Command> = new Map(
  [...CONNECTION_COMMANDS, ...FIGURE_COMMANDS, ...LISTEN_COMMANDS, COMMAND].map((command) => [command.name, command]),
)

/** Runs one command; its reply stands in the session's writer. */
export function runCommand(words: readonly string[], session: Session, context: CommandContext): void {
  const { writer } = session
  const [name = '', ...args] = words
  const command = COMMANDS.get(name.toLowerCase())
  if (!session.isTrusted && command?.isOpen !== true) writer.error('NOAUTH Authentication required.')
  else if (command === undefined) writer.error(unknown(name, args))
  else if (args.length < command.args[0] || args.length > command.args[1])
    writer.error(`ERR wrong number of arguments for '${command.name}' command`)
  else if (session.isListening && command.isForListeners !== true)
    writer.error(
      `ERR Can't execute '${command.name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT are allowed in this context`,
    )
  else command.run({ args, session, writer, context })
}

function unknown(name: string, args: readonly string[]): string {
  const beginning = args.slice(0, 8).map((arg) => `'${arg.slice(0, 32)}'`)
  return `ERR unknown command '${name.slice(0, 128)}', with args beginning with: ${beginning.join(' ')}`
}

function describeAll(writer: RespWriter, commands: readonly (Command | undefined)[]): void {
  writer.array(commands.length)
  for (const command of commands) {
    if (command === undefined) writer.null()
    else describe(writer, command)
  }
}

/** Name, arity (negative: at least), flags, and where its keys stand. */
function describe(writer: RespWriter, { name, args, keys = [0, 0], isOpen }: Command): void {
  const [min, max] = args
  writer.array(6)
  writer.bulk(name)
  writer.integer(min === max ? min + 1 : -(min + 1))
  writer.array(isOpen === true ? 3 : 2)
  writer.simple('readonly')
  writer.simple('fast')
  if (isOpen === true) writer.simple('no_auth')
  for (const place of [...keys, keys[0] === 0 ? 0 : 1]) writer.integer(place)
}
