import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SEAT_LINES_LIMITS, type SeatFormat, SeatLines } from './seat-lines.ts'

function read(text: string, format: SeatFormat = 'csv', { cuts = [] as number[], skipLines = 0 } = {}) {
  const lines = new SeatLines({ format, skipLines })
  const bytes = new TextEncoder().encode(text)
  const ends = [...new Set([...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b)
  let start = 0
  const uids: number[] = []
  for (const end of ends) {
    uids.push(...lines.feed(bytes.subarray(start, end)))
    start = end
  }
  uids.push(...lines.end())
  return { uids, lines: lines.lines, bad: lines.bad, badLines: lines.badLines }
}

test('CSV with a header, quotes, other columns, empty lines and both line ends', () => {
  const text = 'uid,name\r\n17,Ann\r\n"18",Bob\n\n 19 ;x\n20'
  expect(read(text)).toEqual({ uids: [17, 18, 19, 20], lines: 6, bad: 0, badLines: [] })
})

test('NDJSON with numbers and objects', () => {
  expect(read('17\n{"uid":18,"name":"ü"}\n', 'ndjson').uids).toEqual([17, 18])
})

test('a bad line is counted and said with its number, and the others are read', () => {
  const { uids, bad, badLines } = read('1\nx\n-3\n1.5\n0\n9007199254740993\n2\n12a\n')
  expect([uids, bad]).toEqual([[1, 2], 6])
  expect(badLines.map(({ line }) => line)).toEqual([2, 3, 4, 5, 6, 8])
  expect(badLines[0]?.error).toContain('"x"')
  expect(read('{"uid":"7"}\n{\nnull\n[1]\n7', 'ndjson')).toMatchObject({ uids: [7], bad: 4 })
})

test('a line without an end costs no memory and is one bad line', () => {
  const { uids, bad, badLines } = read(`${'1'.repeat(100_000)}\n7\n`)
  expect([uids, bad]).toEqual([[7], 1])
  expect(badLines[0]?.error).toContain('longer')
})

test('only the first bad lines are said', () => {
  expect(read('x\n'.repeat(500))).toMatchObject({ bad: 500, badLines: { length: SEAT_LINES_LIMITS.badLinesMax } })
})

test('a repeat goes on after the lines that were read before', () => {
  expect(read('uid\n1\n2\n3\nx\n', 'csv', { skipLines: 3 })).toMatchObject({ uids: [3], lines: 5, bad: 1 })
})

test('wherever the text is cut, the same is read', () => {
  const line = fc.oneof(fc.integer({ min: 1, max: 2 ** 31 }).map(String), fc.string({ maxLength: 12 }))
  fc.assert(
    fc.property(fc.array(line, { maxLength: 20 }), fc.array(fc.nat(), { maxLength: 10 }), (some, cuts) => {
      const text = some.join('\n')
      expect(read(text, 'csv', { cuts })).toEqual(read(text))
    }),
  )
})
