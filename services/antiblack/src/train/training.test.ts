import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_ABUSE_RULES, DOCUMENT_BYTES_MAX, parseAbuseModel } from '@bigtap/domain'
import { type AccessColumns, encodeAccessBatch } from '@bigtap/protocol'
import { afterAll, describe, expect, test } from 'vitest'
import { DEFAULT_ABUSE_MODEL } from '../core/default-model.ts'
import { calibrate, calibrationError } from './calibration.ts'
import { CAUGHT_TIER, describeResults, evaluate, type Results, shareFrom, wronglyBlocked } from './evaluate.ts'
import { openLog, readLabels } from './labelled-log.ts'
import { syntheticLog } from './synthetic-log.ts'
import { trainModel } from './train-model.ts'

const TERMS = { seed: 1, epochs: 3, rate: 0.15, l2: 0.0005 }
const folder = mkdtempSync(join(tmpdir(), 'bigtap-train-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Seeds of sales that no model was trained on, and on which nothing was tuned. */
const FRESH_SEEDS = [9_000_001, 9_000_002, 9_000_003, 9_000_004, 9_000_005]

describe('the model and the rules that ship', () => {
  test('are a sound document, far below the size that a document may have', () => {
    const json = JSON.stringify(DEFAULT_ABUSE_MODEL)

    expect(parseAbuseModel(JSON.parse(json))).toEqual({ ok: true, value: DEFAULT_ABUSE_MODEL })
    expect(json.length).toBeLessThan(DOCUMENT_BYTES_MAX / 3)
  })

  test('stand in the runbook, each rule by its name', () => {
    const runbook = readFileSync(join(import.meta.dirname, '../../../../docs/RUNBOOK.md'), 'utf8')

    expect(DEFAULT_ABUSE_RULES.rules.filter(({ name }) => !runbook.includes(`\`${name}\``))).toEqual([])
  })

  test('catch 95 % of scripts and farms and block no more than 0.1 % of the others, on sales they have not seen', () => {
    const results: Results = new Map()
    for (const seed of FRESH_SEEDS) evaluate(syntheticLog(seed), DEFAULT_ABUSE_RULES, DEFAULT_ABUSE_MODEL, results)
    const table = describeResults(results).join('\n')

    for (const profile of ['script', 'farm', 'sharer', 'guesser']) {
      expect(
        shareFrom(results, CAUGHT_TIER, (one) => one === profile),
        table,
      ).toBeGreaterThanOrEqual(0.95)
    }
    expect(wronglyBlocked(results), table).toBeLessThanOrEqual(0.001)
    expect(
      shareFrom(results, CAUGHT_TIER, (_, { isAbusive }) => !isAbusive),
      table,
    ).toBeLessThan(0.01)
  }, 60_000)
})

describe('training', () => {
  test('gives the same model for the same logs and seed, calibrated on buyers that were held out', () => {
    const [one, other] = [0, 1].map(() => trainModel([syntheticLog(1), syntheticLog(2)], TERMS, 'a test'))

    expect(one?.model).toEqual(other?.model)
    expect(parseAbuseModel(JSON.parse(JSON.stringify(one?.model)))).toMatchObject({ ok: true })
    expect(one?.calibrationError).toBeLessThan(0.03)
    const { truePositive = 0, falseNegative = 0, falsePositive = 0, trueNegative = 0 } = one?.confusion ?? {}
    expect(truePositive / (truePositive + falseNegative)).toBeGreaterThan(0.9)
    expect(falsePositive / (falsePositive + trueNegative)).toBeLessThan(0.02)
  }, 60_000)

  test('makes scores that mean what they say out of scores that are far too sure', () => {
    // Abuse with probability sigmoid(z), but the scores claim 4 z + 2.
    const z = Array.from({ length: 4_000 }, (_, row) => ((row % 80) - 40) / 10)
    const isAbusive = Uint8Array.from(z, (one, row) => ((row * 0.618_033_988_7) % 1 < 1 / (1 + Math.exp(-one)) ? 1 : 0))
    const scored = { logOdds: Float64Array.from(z, (one) => 4 * one + 2), isAbusive }

    const { a, b } = calibrate(scored)

    expect(a).toBeCloseTo(0.25, 1)
    expect(b).toBeCloseTo(-0.5, 0)
    expect(calibrationError(scored, { a, b })).toBeLessThan(0.02)
    expect(calibrationError(scored, { a: 1, b: 0 })).toBeGreaterThan(0.05)
  })

  test('reads a recorded log: records with their length before them, a torn last one left out', () => {
    const batches = [...syntheticLog(3).batches()].slice(0, 20)
    const records = batches.flatMap((batch) => {
      const bytes = encodeAccessBatch(batch)
      const head = Buffer.alloc(4)
      head.writeUInt32LE(bytes.length)
      return [head, Buffer.from(bytes)]
    })
    const [log, labels] = [join(folder, 'log'), join(folder, 'labels')]
    writeFileSync(log, Buffer.concat([...records, Buffer.from([9, 0, 0, 0, 1, 2])]))
    writeFileSync(
      labels,
      '{"uid":1,"profile":"farm","isAbusive":true}\n\n{"uid":2,"profile":"normal","isAbusive":false}\n',
    )

    const opened = openLog(log, labels)
    const read = [...opened.batches()].length
    const first: AccessColumns | undefined = [...openLog(log, labels).batches()][0]

    expect(read).toBe(20)
    expect(first?.rows).toBeGreaterThan(0)
    expect([...opened.labels.values()].map(({ profile }) => profile)).toEqual(['farm', 'normal'])
  })

  test('names the line of the labels that it cannot read', () => {
    expect(() => readLabels('{"uid":1,"profile":"farm","isAbusive":true}\nnonsense')).toThrow('line 2')
    expect(() => readLabels('{"uid":"1"}')).toThrow('line 1')
  })
})
