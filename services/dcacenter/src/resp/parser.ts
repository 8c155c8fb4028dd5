/** Bounds of one command. */
export const ARGS_MAX = 64
/** Longest command, all in all. */
export const COMMAND_BYTES_MAX = 65_536

/**
 * What stands at the beginning of the bytes: a command and how many bytes it takes (`args` is empty for an empty line),
 * the beginning of one, or nothing that could become one.
 */
export type ParseOutcome =
  | { readonly kind: 'command'; readonly args: string[]; readonly bytes: number }
  | { readonly kind: 'more' }
  | { readonly kind: 'bad'; readonly message: string }

const MORE: ParseOutcome = { kind: 'more' }
const CR = 13
const LF = 10
const STAR = 0x2a
const DOLLAR = 0x24
/** A count in front of an array or a text: at most this many digits. */
const COUNT_BYTES_MAX = 12

/**
 * Reads one command from `bytes` at `from`: an array of texts as clients send it, or an inline line as people type it.
 *
 *   *2\r\n $3\r\n GET\r\n $6\r\n totals\r\n        |        GET totals\r\n
 *
 * Pure: no bytes are kept, so that a command may come in any pieces.
 */
export function parseCommand(bytes: Uint8Array, from: number): ParseOutcome {
  if (from >= bytes.length) return MORE
  const outcome = bytes[from] === STAR ? parseArray(bytes, from) : parseInline(bytes, from)
  if (outcome.kind === 'more' && bytes.length - from > COMMAND_BYTES_MAX) return tooLong(bytes.length - from)
  if (outcome.kind === 'command' && outcome.bytes > COMMAND_BYTES_MAX) return tooLong(outcome.bytes)
  return outcome
}

function parseArray(bytes: Uint8Array, from: number): ParseOutcome {
  const count = readCount(bytes, from + 1)
  if (count === 'more') return MORE
  if (count === 'bad' || count.value > ARGS_MAX) return bad('invalid multibulk length')
  const args: string[] = []
  let at = count.end
  for (let index = 0; index < count.value; index++) {
    if (at >= bytes.length) return MORE
    if (bytes[at] !== DOLLAR) return bad(`expected '$', got '${printable(bytes[at])}'`)
    const length = readCount(bytes, at + 1)
    if (length === 'more') return MORE
    if (length === 'bad' || length.value < 0 || length.value > COMMAND_BYTES_MAX) return bad('invalid bulk length')
    const end = length.end + length.value
    if (end + 2 > bytes.length) return MORE
    if (bytes[end] !== CR || bytes[end + 1] !== LF) return bad('a text does not end where its length says')
    args.push(textOf(bytes, length.end, end))
    at = end + 2
  }
  return { kind: 'command', args, bytes: at - from }
}

function parseInline(bytes: Uint8Array, from: number): ParseOutcome {
  const end = bytes.indexOf(LF, from)
  if (end < 0) return MORE
  const line = textOf(bytes, from, bytes[end - 1] === CR && end > from ? end - 1 : end)
  const args = splitLine(line)
  if (args === undefined) return bad('unbalanced quotes in request')
  if (args.length > ARGS_MAX) return bad(`more than ${ARGS_MAX} arguments`)
  return { kind: 'command', args, bytes: end + 1 - from }
}

/** Words, or texts in quotes; undefined when a quote is not closed. */
function splitLine(line: string): string[] | undefined {
  const args: string[] = []
  const word = /\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s"']\S*))(?=\s|$)|\s+$/y
  while (word.lastIndex < line.length) {
    const match = word.exec(line)
    if (match === null) return undefined
    const [, double, single, plain] = match
    const arg = double?.replaceAll(/\\(.)/g, '$1') ?? single ?? plain
    if (arg !== undefined) args.push(arg)
  }
  return args
}

/** A whole number and the line break after it. */
function readCount(bytes: Uint8Array, from: number): { value: number; end: number } | 'more' | 'bad' {
  let value = 0
  let at = from
  const isNegative = bytes[at] === 0x2d
  if (isNegative) at++
  for (; at - from <= COUNT_BYTES_MAX; at++) {
    const byte = bytes[at]
    if (byte === undefined) return 'more'
    if (byte === CR) {
      if (bytes.length <= at + 1) return 'more'
      if (bytes[at + 1] !== LF || at === from + (isNegative ? 1 : 0)) return 'bad'
      return { value: isNegative ? -value : value, end: at + 2 }
    }
    if (byte < 0x30 || byte > 0x39) return 'bad'
    value = value * 10 + byte - 0x30
  }
  return 'bad'
}

function textOf(bytes: Uint8Array, from: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, end - from).toString('utf8')
}

function printable(byte: number | undefined): string {
  return byte !== undefined && byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '?'
}

function tooLong(bytes: number): ParseOutcome {
  return bad(`a command of ${bytes} bytes exceeds ${COMMAND_BYTES_MAX}`)
}

function bad(message: string): ParseOutcome {
  return { kind: 'bad', message }
}
