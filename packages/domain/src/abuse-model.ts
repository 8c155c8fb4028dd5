/** Document `abuse:model`: weights of the logistic regression that scores buyers. */

import type { Tier } from './abuse.ts'
import { Fields, type Parsed, show } from './checks.ts'

/** Key of the document. */
export const ABUSE_MODEL_KEY = 'abuse:model'

/** Version of the features that a model is trained on; another one's weights mean something else and are refused. */
export const ABUSE_FEATURE_SCHEMA = 1
/** Length of the weight vector: features are hashed to places below it. */
export const ABUSE_MODEL_SIZE = 4_096

/** From this score on: that tier, for so long. */
export interface ScoreStep {
  /** Calibrated probability of abuse, 0..1. */
  readonly score: number
  readonly tier: Tier
  readonly forSeconds: number
}

/** The model; see `parseAbuseModel`. The score is 1 / (1 + exp(-(a z + b))) with z = bias + sum of the weights (Platt 1999). */
export interface AbuseModelDoc {
  readonly version: number
  readonly featureSchema: number
  readonly bias: number
  /** Places of the weights that are not 0, rising, below ABUSE_MODEL_SIZE. */
  readonly places: readonly number[]
  /** One for each place. */
  readonly weights: readonly number[]
  readonly calibration: { readonly a: number; readonly b: number }
  /** Rising in score and tier. */
  readonly steps: readonly ScoreStep[]
  /** What it was trained on, in words, for operators. */
  readonly trainedOn: string
}

const WEIGHT_MAX = 64
const STEPS_MAX = 5
const ITEM_ERRORS_MAX = 5

/** Reads document `abuse:model`; it is refused whole, with all that is wrong with it. */
export function parseAbuseModel(value: unknown): Parsed<AbuseModelDoc> {
  const fields = new Fields(value)
  const weight = { min: -WEIGHT_MAX, max: WEIGHT_MAX, fraction: true }
  const model: AbuseModelDoc = {
    version: fields.id('version'),
    featureSchema: fields.number('featureSchema', { min: ABUSE_FEATURE_SCHEMA, max: ABUSE_FEATURE_SCHEMA }),
    bias: fields.number('bias', weight),
    places: numbers(fields, 'places', (one) => Number.isInteger(one) && one >= 0 && one < ABUSE_MODEL_SIZE),
    weights: numbers(fields, 'weights', (one) => Math.abs(one) <= WEIGHT_MAX),
    calibration: fields.nested('calibration', parseCalibration, { a: 1, b: 0 }),
    steps: fields.list('steps', STEPS_MAX, parseStep),
    trainedOn: fields.text('trainedOn', 200, ''),
  }
  const { places, weights, steps } = model
  if (fields.errors.length > 0) return fields.done(model)
  if (places.length !== weights.length) {
    fields.errors.push(`places has ${places.length} numbers and weights ${weights.length}`)
  }
  if (!rises(places)) fields.errors.push('places does not rise')
  if (steps.length === 0) fields.errors.push('steps is empty: no score would mean anything')
  if (!rises(steps.map(({ score }) => score))) fields.errors.push('steps does not rise in score')
  if (!rises(steps.map(({ tier }) => tier))) fields.errors.push('steps does not rise in tier')
  return fields.done(model)
}

function parseCalibration(value: unknown, path: string): Parsed<AbuseModelDoc['calibration']> {
  const fields = new Fields(value, path)
  // A falling calibration would call the worst the best.
  const a = fields.number('a', { min: 0.001, max: WEIGHT_MAX, fraction: true })
  return fields.done({ a, b: fields.number('b', { min: -WEIGHT_MAX, max: WEIGHT_MAX, fraction: true }) })
}

function parseStep(value: unknown, path: string): Parsed<ScoreStep> {
  const fields = new Fields(value, path)
  return fields.done({
    score: fields.number('score', { min: 0.05, max: 1, fraction: true }),
    tier: fields.number('tier', { min: 1, max: 5 }) as Tier,
    forSeconds: fields.number('forSeconds', { min: 5, max: 86_400 }),
  })
}

function numbers(fields: Fields, name: string, isGood: (one: number) => boolean): number[] {
  const list = fields.raw(name)
  if (!Array.isArray(list) || list.length > ABUSE_MODEL_SIZE) {
    fields.errors.push(`${name} must be a list of at most ${ABUSE_MODEL_SIZE} numbers, not ${show(list)}`)
    return []
  }
  const bad = list.flatMap((one, index) => (typeof one === 'number' && isGood(one) ? [] : [index]))
  const named = bad.slice(0, ITEM_ERRORS_MAX).map((index) => `${name}[${index}] must not be ${show(list[index])}`)
  fields.errors.push(...named)
  if (bad.length > named.length) fields.errors.push(`${name} has ${bad.length - named.length} more bad numbers`)
  return bad.length === 0 ? list : []
}

function rises(list: readonly number[]): boolean {
  return list.every((one, index) => index === 0 || one > (list[index - 1] as number))
}
