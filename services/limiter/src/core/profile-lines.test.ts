import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PROFILE_LINES_LIMITS, ProfileLines } from './profile-lines.ts'

function read(text: string, cutAt: readonly number[] = []) {
  const rows: [number, number][] = []
  const lines = new ProfileLines((uid, tier) => rows.push([uid, tier]))
  const bytes = Buffer.from(text)
  const cuts = [0, ...cutAt.map((at) => at % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  for (const [index, from] of cuts.entries()) lines.feed(bytes.subarray(from, cuts[index + 1] ?? bytes.length))
  lines.end()
  return { rows, lines: lines.lines, bad: lines.bad, badLines: lines.badLines }
}

test('a profile may be CSV with or without a header, or JSON lines, with any line ends', () => {
  expect(read('uid,tier\r\n7,3\r\n8, 0\n"9","5"\n\n{"tier":2,"uid":10}\n11;1').rows).toEqual([
    [7, 3],
    [8, 0],
    [9, 5],
    [10, 2],
    [11, 1],
  ])
})

test.each([
  ['7', 'neither'],
  ['7,6', 'tier must be'],
  ['7,-1', 'neither'],
  ['0,1', 'uid must be'],
  ['9007199254740993,1', 'uid must be'],
  ['{"uid":1.5,"tier":1}', 'uid must be'],
  ['{"uid":1}', 'tier must be'],
  ['{"uid":', 'neither'],
  ['[1,2]', 'neither'],
  ['7,3,9', 'neither'],
  ['x'.repeat(300), 'longer than'],
])('a bad line is named by its number, not by its uid, and the lines around it count: %s', (bad, error) => {
  const { rows, badLines } = read(`1,1\n${bad}\n2,2\n`)

  expect(rows).toEqual([
    [1, 1],
    [2, 2],
  ])
  expect(badLines).toEqual([{ line: 2, error: expect.stringContaining(error) }])
  expect(badLines[0]?.error).not.toContain('9007199254740993')
})

test('a file of nothing but bad lines names the first ones and counts all', () => {
  const { bad, badLines, lines } = read('?\n'.repeat(1_000))

  expect([bad, lines, badLines.length]).toEqual([1_000, 1_000, PROFILE_LINES_LIMITS.badLinesMax])
})

test('where the pieces of a file are cut changes nothing', () => {
  const line = fc.oneof(
    fc.tuple(fc.maxSafeNat(), fc.nat(7)).map(([uid, tier]) => `${uid},${tier}`),
    fc.tuple(fc.nat(), fc.nat(7)).map(([uid, tier]) => JSON.stringify({ uid, tier })),
    fc.string({ maxLength: 20 }),
    fc.constant('y'.repeat(PROFILE_LINES_LIMITS.lineBytesMax + 1)),
  )
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat()), (texts, cuts) => {
      expect(read(texts.join('\n'), cuts)).toEqual(read(texts.join('\n')))
    }),
    { seed: 1 },
  )
})
