/** What a command is. */

import type { Keyspace } from '../core/keyspace.ts'
import type { Session } from './session.ts'
import type { RespWriter } from './writer.ts'

/** What the commands work with. `isPassword` is missing when there is none. */
export interface CommandContext {
  readonly keyspace: Pick<Keyspace, 'type' | 'hash' | 'text' | 'keys' | 'scan'>
  readonly isPassword: ((text: string) => boolean) | undefined
  /** Sections of INFO, in their order. */
  info(): Readonly<Record<string, Readonly<Record<string, string | number>>>>
}

/** One call of a command; `args` are without its name. */
export interface Call {
  readonly args: readonly string[]
  readonly session: Session
  readonly writer: RespWriter
  readonly context: CommandContext
}

/** A command of the table. */
export interface Command {
  readonly name: string
  /** How many arguments it takes, its name not counted. */
  readonly args: readonly [min: number, max: number]
  /** May be said before AUTH. */
  readonly isOpen?: boolean
  /** May be said while listening in RESP2. */
  readonly isForListeners?: boolean
  /** Place of the first key, 0 when it takes none; -1 as last: all that follow. */
  readonly keys?: readonly [first: number, last: number]
  run(call: Call): void
}
