import { mkdtemp, open, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Logger, nullLogger, nullMetrics } from '@bigtap/kernel'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Profile } from './profile.ts'

let folder: string
let file: string
let said: { level: string; fields: Record<string, unknown>; message: string }[]
const noting = (level: string) => (fields: Record<string, unknown>, message: string) =>
  void said.push({ level, fields, message })
const logger: Logger = { ...nullLogger, info: noting('info'), warn: noting('warn'), error: noting('error') }
const profileOf = (more: { uidsMax?: number } = {}) => new Profile({ file, ...more }, { logger, metrics: nullMetrics })
/** Puts a file in place at once, as an operator's `mv` does. */
const put = async (text: string) => {
  await writeFile(`${file}.new`, text)
  await rename(`${file}.new`, file)
}

beforeEach(async () => {
  said = []
  folder = await mkdtemp(join(tmpdir(), 'bigtap-profile-'))
  file = join(folder, 'profile.csv')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

test('a profile is taken when it comes, and taken anew when it changes', async () => {
  const profile = profileOf()
  await profile.look()
  expect(profile.tierOf(7)).toBe(0)

  await put('uid,tier\n7,3\n8,5\n')
  await profile.look()
  expect([profile.tierOf(7), profile.tierOf(8), profile.size]).toEqual([3, 5, 2])

  await put('7,1\n')
  await profile.look()
  expect([profile.tierOf(7), profile.tierOf(8), profile.size]).toEqual([1, 0, 1])
})

test('a file that is gone, broken or too long leaves the last good one in force, and is said once', async () => {
  const profile = profileOf({ uidsMax: 3 })
  await put('7,3\n')
  await profile.look()
  said = []

  await put('nonsense\nmore of it\n')
  await profile.look()
  await profile.look()
  await put('1,1\n2,1\n3,1\n4,1\n')
  await profile.look()
  await rm(file)
  await profile.look()
  await profile.look()

  expect(profile.tierOf(7)).toBe(3)
  expect(said.map(({ fields }) => String(fields.reason))).toEqual([
    'no line of it is good',
    'it has more than 3 uids',
    expect.stringContaining('ENOENT'),
  ])
  expect(said[0]?.fields.badLines).toEqual([
    { line: 1, error: expect.any(String) },
    { line: 2, error: expect.any(String) },
  ])
})

test('bad lines of a good file are counted and named', async () => {
  await put('7,3\n7,nine\n')
  const profile = profileOf()
  await profile.look()

  expect([profile.tierOf(7), profile.badLines]).toEqual([3, 1])
  expect(said.at(-1)?.fields.badLines).toEqual([{ line: 2, error: expect.any(String) }])
})

test('a million lines are read in small pieces: the event loop goes on', async () => {
  const handle = await open(file, 'w')
  for (let from = 0; from < 1_000_000; from += 50_000)
    await handle.write(Array.from({ length: 50_000 }, (_, n) => `${(from + n + 1) * 31},${1 + (n % 4)}\n`).join(''))
  await handle.close()
  const profile = profileOf()
  let turns = 0
  const beat = setInterval(() => turns++, 1)

  await profile.look()
  clearInterval(beat)

  expect(profile.size).toBe(1_000_000)
  // As many turns as pieces of the file, or as the timer had in that time: in one go it would be none.
  expect(turns).toBeGreaterThan(20)
})
