import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ARGS_MAX, COMMAND_BYTES_MAX, parseCommand } from './parser.ts'

const parse = (text: string) => parseCommand(Buffer.from(text), 0)
const array = (args: readonly string[]) =>
  `*${args.length}\r\n${args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`).join('')}`

describe('commands', () => {
  test.each([
    ['an array', '*2\r\n$3\r\nGET\r\n$6\r\ntotals\r\n', ['GET', 'totals']],
    ['an empty text', '*2\r\n$3\r\nGET\r\n$0\r\n\r\n', ['GET', '']],
    ['a text with line breaks', array(['PING', 'a\r\nb']), ['PING', 'a\r\nb']],
    ['text beyond ASCII', array(['PING', 'grüße 大秒']), ['PING', 'grüße 大秒']],
    ['an empty array', '*0\r\n', []],
    ['a null array', '*-1\r\n', []],
    ['a line', 'HGET totals free\r\n', ['HGET', 'totals', 'free']],
    ['a line with a bare line feed', 'PING\n', ['PING']],
    ['spaces around', '  PING   x  \r\n', ['PING', 'x']],
    ['quotes', `PING "a \\"b\\"" 'c d'\r\n`, ['PING', 'a "b"', 'c d']],
    ['an empty line', '\r\n', []],
  ])('%s', (_what, text, args) => {
    expect(parse(text)).toEqual({ kind: 'command', args, bytes: Buffer.byteLength(text) })
  })

  test('cut at every byte, it waits for more; with the rest it is the same', () => {
    for (const text of [array(['HGETALL', 'node:ä', '']), 'KEYS "sku:*"\r\n']) {
      const bytes = Buffer.from(text)
      for (let cut = 0; cut < bytes.length; cut++)
        expect(parseCommand(bytes.subarray(0, cut), 0)).toEqual({ kind: 'more' })
    }
  })

  test('one after the other', () => {
    const bytes = Buffer.from(`${array(['PING'])}PING x\r\n${array(['QUIT'])}`)
    const seen: string[][] = []
    for (let at = 0; at < bytes.length; ) {
      const outcome = parseCommand(bytes, at)
      if (outcome.kind !== 'command') throw new Error(outcome.kind)
      seen.push(outcome.args)
      at += outcome.bytes
    }

    expect(seen).toEqual([['PING'], ['PING', 'x'], ['QUIT']])
  })
})

describe('what could never become a command', () => {
  test.each([
    ['a count that is none', '*x\r\n'],
    ['a count without an end', '*11111111111111111111'],
    ['no count', '*\r\n'],
    ['a carriage return alone', '*1\rx'],
    ['too many arguments', `*${ARGS_MAX + 1}\r\n`],
    ['another type in it', '*1\r\n:5\r\n'],
    ['a negative length', '*1\r\n$-1\r\n'],
    ['a length beyond the limit', `*1\r\n$${COMMAND_BYTES_MAX + 1}\r\n`],
    ['a text longer than it says', '*1\r\n$3\r\nPINGX\r\n'],
    ['an open quote', 'PING "x\r\n'],
    ['a line of too many words', `${'x '.repeat(ARGS_MAX + 1)}\r\n`],
    ['a line without an end', 'x'.repeat(COMMAND_BYTES_MAX + 1)],
    ['texts that are too long together', `*2\r\n$65000\r\n${'x'.repeat(65_000)}\r\n$65000\r\n${'x'.repeat(800)}`],
  ])('%s', (_what, text) => {
    expect(parse(text).kind).toBe('bad')
  })
})

test('whatever bytes come, there is an outcome', () => {
  const bytes = fc.uint8Array({ maxLength: 60 })
  const alike = fc.string({ unit: fc.constantFrom('*', '$', '1', '2', '\r', '\n', 'a', ' ', '"', '-'), maxLength: 30 })
  fc.assert(
    fc.property(
      fc.oneof(
        bytes,
        alike.map((text) => Buffer.from(text)),
      ),
      (input) => {
        const outcome = parseCommand(input, 0)
        if (outcome.kind === 'command') expect(outcome.bytes).toBeGreaterThan(0)
      },
    ),
    { seed: 7, numRuns: 3_000 },
  )
})
