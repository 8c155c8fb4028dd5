import { describe, expect, test } from 'vitest'
import { parseArgs } from './args.ts'

describe('npm start arguments', () => {
  test('defaults, and every flag in both spellings', () => {
    const parsed = parseArgs(['--exit', '--report', 'r.json', '--buyers=10', '--bots', '0.5', '--kill', 'middle@2'])

    expect(parsed.ok && parsed.options).toMatchObject({ exit: true, report: 'r.json', buyers: 10, bots: 0.5, skus: 2 })
    expect(parsed.ok && parsed.options.kills).toEqual([{ role: 'middle', atMs: 2000 }])
  })

  test('all mistakes are told at once, each with its value', () => {
    const parsed = parseArgs([
      '--buyers',
      '-1',
      '--stock',
      '1e30',
      '--bots',
      'many',
      '--frob',
      '--kill',
      'moon@1',
      '--report',
    ])

    expect(parsed.ok).toBe(false)
    expect(parsed.ok ? [] : parsed.errors).toEqual([
      '--buyers needs a whole number from 1 to 1000000, not -1',
      '--stock needs a whole number from 1 to 1000000, not 1e30',
      '--bots needs a number from 0 to 1, not many',
      'unknown flag --frob; --help lists them',
      expect.stringContaining('not moon@1'),
      '--report needs a file name',
    ])
  })

  test('the crowd and the way of admission are chosen from what there is', () => {
    const parsed = parseArgs(['--profile', 'mixed', '--admission=draw', '--challenge', 'all', '--labels', 'l.jsonl'])

    expect(parsed.ok && parsed.options).toMatchObject({
      ...{ profile: 'mixed', admission: 'draw', challenge: 'all', labels: 'l.jsonl', record: undefined },
    })
    expect(parseArgs([])).toMatchObject({ options: { profile: undefined, admission: 'direct', challenge: 'off' } })
  })

  test('a crowd that nobody knows is refused with the ones there are', () => {
    const parsed = parseArgs(['--profile', 'zombie', '--admission', '--kill', 'antiblack@5'])

    expect(parsed.ok ? [] : parsed.errors).toEqual([
      expect.stringContaining('one of mixed, normal, refresher'),
      '--admission needs one of direct, queue, draw, not --kill',
      'unknown flag antiblack@5; --help lists them',
    ])
  })

  test('--exit and --idle exclude each other', () => {
    expect(parseArgs(['--exit', '--idle']).ok).toBe(false)
  })
})
