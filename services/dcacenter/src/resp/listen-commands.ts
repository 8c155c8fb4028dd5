/** Commands of those who listen to channels. */

import { PATTERN_CHARS_MAX } from '../core/glob.ts'
import type { Call, Command } from './command.ts'
import { CHANNELS_MAX, PATTERNS_MAX } from './session.ts'

const ANY = Number.POSITIVE_INFINITY

/** SUBSCRIBE, PSUBSCRIBE, UNSUBSCRIBE and PUNSUBSCRIBE. */
export const LISTEN_COMMANDS: readonly Command[] = [
  {
    name: 'subscribe',
    args: [1, ANY],
    isForListeners: true,
    run: (call) => {
      for (const channel of call.args) {
        const isShort = channel.length <= PATTERN_CHARS_MAX
        if (isShort && call.session.subscribe(channel)) confirm(call, 'subscribe', channel)
        else
          call.writer.error(
            `ERR more than ${CHANNELS_MAX} channels, or a name of more than ${PATTERN_CHARS_MAX} characters`,
          )
      }
    },
  },
  {
    name: 'psubscribe',
    args: [1, ANY],
    isForListeners: true,
    run: (call) => {
      for (const pattern of call.args) {
        const isShort = pattern.length <= PATTERN_CHARS_MAX
        if (isShort && call.session.psubscribe(pattern)) confirm(call, 'psubscribe', pattern)
        else
          call.writer.error(
            `ERR more than ${PATTERNS_MAX} patterns, or one of more than ${PATTERN_CHARS_MAX} characters`,
          )
      }
    },
  },
  {
    name: 'unsubscribe',
    args: [0, ANY],
    isForListeners: true,
    run: (call) => leave(call, 'unsubscribe', call.session.channels),
  },
  {
    name: 'punsubscribe',
    args: [0, ANY],
    isForListeners: true,
    run: (call) => leave(call, 'punsubscribe', call.session.patterns),
  },
]

interface Names {
  keys(): IterableIterator<string>
  delete(name: string): boolean
}

/** Without names: all of them. There is always at least one answer. */
function leave(call: Call, verb: string, names: Names): void {
  const wanted = call.args.length > 0 ? call.args : [...names.keys()]
  for (const name of wanted) {
    names.delete(name)
    confirm(call, verb, name)
  }
  if (wanted.length === 0) confirm(call, verb, undefined)
}

function confirm({ writer, session }: Call, verb: string, name: string | undefined): void {
  writer.push(3)
  writer.bulk(verb)
  if (name === undefined) writer.null()
  else writer.bulk(name)
  writer.integer(session.subscriptions)
}
