/** `npm run train`: trains the model on a recorded log, or on made-up ones, says how good it is, and writes the document. */

import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { DEFAULT_ABUSE_RULES, DOCUMENT_BYTES_MAX, parseAbuseModel } from '@bigtap/domain'
import { describeResults, evaluate, type Results, wronglyBlocked } from './evaluate.ts'
import { type LabelledLog, openLog } from './labelled-log.ts'
import { syntheticLog } from './synthetic-log.ts'
import { trainModel } from './train-model.ts'

const USAGE = 'usage: npm run train -- (--log FILE --labels FILE | --synthetic SEED) [--out FILE] [--seed N]'
/** Made-up sales that a model is trained on; then as many others tell how good it is. */
const SALES = 56
const TESTED_SALES = 12
const TEST_SEEDS_FROM = 1_000_000
const TERMS = { epochs: 6, rate: 0.15, l2: 0.0005 }

const { values } = parseArgs({
  options: {
    log: { type: 'string' },
    labels: { type: 'string' },
    synthetic: { type: 'string' },
    out: { type: 'string' },
    seed: { type: 'string', default: '1' },
  },
})
const { train, test, words } = logsOf(values)
const trained = trainModel(train, { ...TERMS, seed: Number(values.seed) }, words)
const json = JSON.stringify(trained.model)
const checked = parseAbuseModel(JSON.parse(json))
if (!checked.ok) throw new Error(`the trained model is not sound: ${checked.errors.join('; ')}`)
if (json.length > DOCUMENT_BYTES_MAX)
  throw new Error(`the model has ${json.length} bytes, ${DOCUMENT_BYTES_MAX} are allowed`)

const results: Results = new Map()
for (const log of test) evaluate(log, DEFAULT_ABUSE_RULES, trained.model, results)
console.log(`${trained.samples} samples; ${trained.model.places.length} weights; ${json.length} bytes`)
console.log(
  `held-out samples: ${JSON.stringify(trained.confusion)}; calibration error ${trained.calibrationError.toFixed(4)}`,
)
console.log(`steps: ${trained.model.steps.map(({ score, tier }) => `${score} -> ${tier}`).join(', ')}`)
console.log(describeResults(results).join('\n'))
console.log(`wrongly blocked: ${(wronglyBlocked(results) * 100).toFixed(3)}%`)
if (values.out !== undefined) writeFileSync(values.out, values.out.endsWith('.ts') ? asModule(json) : `${json}\n`)

/** A recorded log is tried on itself: the figures are then those of training. */
function logsOf({ log, labels, synthetic }: typeof values): {
  train: LabelledLog[]
  test: LabelledLog[]
  words: string
} {
  if (log !== undefined && labels !== undefined) {
    const one = openLog(log, labels)
    return { train: [one], test: [one], words: 'a recorded sale' }
  }
  const seed = Number(synthetic)
  if (synthetic === undefined || !Number.isSafeInteger(seed) || seed < 0) {
    console.error(USAGE)
    process.exit(2)
  }
  const sales = (from: number, count: number) => Array.from({ length: count }, (_, index) => syntheticLog(from + index))
  return {
    train: sales(seed * SALES, SALES),
    test: sales(TEST_SEEDS_FROM, TESTED_SALES),
    words: `${SALES} made-up sales, seed ${seed}`,
  }
}

/** The text of core/default-model.ts. */
function asModule(json: string): string {
  const doc = '/** The model that ships with antiblack; written by `npm run train -- --synthetic 1 --out FILE.ts`. */'
  const type = "import type { AbuseModelDoc } from '@bigtap/domain'"
  const about = '/** In force until an operator publishes another one. */'
  return `${doc}\n\n${type}\n\n${about}\nexport const DEFAULT_ABUSE_MODEL: AbuseModelDoc = ${json}\n`
}
