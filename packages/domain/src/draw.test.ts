import { createHash, createHmac } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DrawCheck, drawCommitOf, drawPseudonym, drawScore } from './draw.ts'

const hashes = {
  sha256OfHex: (hex: string) => createHash('sha256').update(Buffer.from(hex, 'hex')).digest('hex'),
  sha256: (text: string) => createHash('sha256').update(text).digest('hex'),
  hmac: (seed: string, text: string) => createHmac('sha256', Buffer.from(seed, 'hex')).update(text).digest('hex'),
}
const seedOf = (number: number) => hashes.sha256(`seed ${number}`)

function drawn(seed: string, uids: readonly number[], skuId = 1) {
  const commit = drawCommitOf(seed, hashes)
  return uids
    .map((uid) => drawPseudonym({ commit, skuId }, uid, hashes))
    .map((pseudonym) => ({ pseudonym, score: drawScore(seed, pseudonym, hashes) }))
    .sort((x, y) => x.score - y.score)
}

function exported(seed: string, uids: readonly number[]): string[] {
  const header = {
    activityId: 7,
    skuId: 1,
    commit: drawCommitOf(seed, hashes),
    seed,
    drawSeconds: 10,
    count: uids.length,
  }
  const places = drawn(seed, uids).map(({ pseudonym }, index) => ({ place: index + 1, pseudonym }))
  return [header, ...places].map((line) => JSON.stringify(line))
}

function verdictOn(lines: readonly string[]) {
  const check = new DrawCheck(hashes)
  for (const line of lines) check.line(line)
  return check.end()
}

const uids = Array.from({ length: 50 }, (_, index) => index + 1)

test('a draw that was held as published is right', () => {
  expect(verdictOn(exported(seedOf(1), uids))).toMatchObject({ ok: true, value: { places: 50 } })
})

test('whoever moves a buyer to another place is found, whoever it is', () => {
  const lines = exported(seedOf(2), uids)
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 50 }), (from, to) => {
      fc.pre(from !== to)
      const changed = [...lines]
      const [a = '', b = ''] = [lines[from], lines[to]]
      changed[from] = JSON.stringify({ ...JSON.parse(b), place: from })
      changed[to] = JSON.stringify({ ...JSON.parse(a), place: to })

      expect(verdictOn(changed).ok).toBe(false)
    }),
  )
})

test.each([
  [
    'another seed than was committed to',
    (lines: string[]) => [lines[0]?.replace(seedOf(3), seedOf(4)), ...lines.slice(1)],
    /SHA-256 of the seed/,
  ],
  ['a buyer with two places', (lines: string[]) => [...lines.slice(0, 3), lines[2], ...lines.slice(4)], /two places/],
  [
    'a buyer who was left out',
    (lines: string[]) => [...lines.slice(0, 5), ...lines.slice(6)],
    /place 6 follows place 4/,
  ],
  ['an end that is missing', (lines: string[]) => lines.slice(0, -1), /announces 50 places, the export has 49/],
  [
    'a line that is no JSON',
    (lines: string[]) => [...lines.slice(0, 5), '{"place', ...lines.slice(6)],
    /line 6: place is not an object/,
  ],
  ['no header', (lines: string[]) => lines.slice(1), /line 1: header/],
])('%s is named', (_, change, message) => {
  const lines = change(exported(seedOf(3), uids)).map((line) => line ?? '')
  const verdict = verdictOn(lines)

  expect(verdict).toMatchObject({ ok: false, errors: [expect.stringMatching(message)] })
})

/** Upper 0.1 % of chi-square with k - 1 degrees of freedom, by Wilson and Hilferty (1931). */
function chiSquareMax(cells: number): number {
  const freedom = cells - 1
  return freedom * (1 - 2 / (9 * freedom) + 3.09 * Math.sqrt(2 / (9 * freedom))) ** 3
}

function chiSquare(counts: readonly number[]): number {
  const expected = counts.reduce((sum, count) => sum + count, 0) / counts.length
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
}

test('the draw is fair: over 2,000 seeds each buyer is as often in each place (chi-square)', () => {
  const cells = new Array<number>(100).fill(0)
  const ten = uids.slice(0, 10)
  for (let seed = 0; seed < 2_000; seed++) {
    const commit = drawCommitOf(seedOf(seed), hashes)
    const order = drawn(seedOf(seed), ten).map(({ pseudonym }) => pseudonym)
    for (const [index, uid] of ten.entries()) {
      const place = order.indexOf(drawPseudonym({ commit, skuId: 1 }, uid, hashes))
      cells[index * 10 + place] = (cells[index * 10 + place] ?? 0) + 1
    }
  }

  // Rows and columns add up by themselves, so that the bound is a little wide.
  expect(chiSquare(cells)).toBeLessThan(chiSquareMax(100))
})

test('the draw is fair: one seed spreads buyers evenly, whatever their numbers (chi-square)', () => {
  const cells = new Array<number>(64).fill(0)
  const commit = drawCommitOf(seedOf(9), hashes)
  for (let uid = 1; uid <= 20_000; uid++) {
    const score = drawScore(seedOf(9), drawPseudonym({ commit, skuId: 1 }, uid, hashes), hashes)
    const cell = Math.floor((score / 2 ** 52) * 64)
    cells[cell] = (cells[cell] ?? 0) + 1
  }

  expect(chiSquare(cells)).toBeLessThan(chiSquareMax(64))
})

test('another product is another draw: who is first there is not first here', () => {
  const commit = drawCommitOf(seedOf(1), hashes)
  const first = (skuId: number) =>
    uids.findIndex(
      (uid) => drawPseudonym({ commit, skuId }, uid, hashes) === drawn(seedOf(1), uids, skuId)[0]?.pseudonym,
    )

  expect(new Set([1, 2, 3, 4].map(first)).size).toBeGreaterThan(1)
})
