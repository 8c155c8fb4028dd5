/** From labelled logs to a model: samples, regression, calibration, steps. */

import { ABUSE_FEATURE_SCHEMA, type AbuseModelDoc, type ScoreStep } from '@bigtap/domain'
import { hashUid } from '@bigtap/kernel'
import { sigmoid } from '../core/scorer.ts'
import { type Calibration, calibrate, calibrationError, type Scored } from './calibration.ts'
import type { LabelledLog } from './labelled-log.ts'
import { learn, logOddsOf, type RegressionTerms, type Weights } from './regression.ts'
import { joinSamples, type Samples, takeSamples } from './samples.ts'

/** A trained model, and what is to be said about it. */
export interface Trained {
  readonly model: AbuseModelDoc
  readonly samples: number
  /** On the buyers that were held out; a share, 0..1. */
  readonly calibrationError: number
  /** Held-out samples by label and by score >= 0.5. */
  readonly confusion: { truePositive: number; falsePositive: number; trueNegative: number; falseNegative: number }
}

/** One buyer of so many is held out, with all its samples: neighbours in time would tell of each other. */
const HELD_OUT_OF = 4
/** Of those who are no abusers at most this share may score like one who is blocked, on held-out buyers. */
const WRONG_SHARE_MAX = 0.0001
/** Nobody is blocked below this score, whatever the held-out buyers say. */
const BLOCK_SCORE_MIN = 0.995
const BLOCK_SCORE_MAX = 0.9995
/** Weights are rounded to 1/100 in the document, and left out when they are smaller than this. */
const WEIGHT_MIN = 0.02
const MILD_STEPS: readonly ScoreStep[] = [
  { score: 0.5, tier: 2, forSeconds: 30 },
  { score: 0.75, tier: 3, forSeconds: 60 },
]
const FALLS_FIRST: ScoreStep = { score: 0.95, tier: 4, forSeconds: 120 }
const BLOCKED = { tier: 5, forSeconds: 300 } as const

/** Trains twice: the second time neighbours who misbehave are those whom the first model has found, as in the engine. */
export function trainModel(logs: readonly LabelledLog[], terms: RegressionTerms, trainedOn: string): Trained {
  const first = trainOnce(logs, undefined, terms, trainedOn)
  return trainOnce(logs, first.model, terms, trainedOn)
}

function trainOnce(
  logs: readonly LabelledLog[],
  before: AbuseModelDoc | undefined,
  terms: RegressionTerms,
  trainedOn: string,
): Trained {
  const samples = joinSamples(logs.map((log) => takeSamples(log, before)))
  const [train, held] = split(samples)
  const weights = rounded(learn(samples, train, terms))
  const scored = scoreAll(weights, samples, held)
  const fitted = calibrate(scored)
  const calibration = { a: round(fitted.a, 1e4), b: round(fitted.b, 1e4) }
  const kept = [...weights.weights.keys()].filter((place) => weights.weights[place] !== 0)
  const model: AbuseModelDoc = {
    version: 1,
    featureSchema: ABUSE_FEATURE_SCHEMA,
    bias: weights.bias,
    places: kept,
    weights: kept.map((place) => weights.weights[place] as number),
    calibration,
    steps: stepsOf(samples, held, scored, calibration),
    trainedOn,
  }
  const error = calibrationError(scored, calibration)
  return { model, samples: samples.count, calibrationError: error, confusion: confusionOf(scored, calibration) }
}

function split({ uids, count }: Samples): [train: Int32Array, held: Int32Array] {
  const rows = Int32Array.from({ length: count }, (_, row) => row)
  const isHeld = (row: number) => hashUid(uids[row] as number) % HELD_OUT_OF === 0
  return [rows.filter((row) => !isHeld(row)), rows.filter(isHeld)]
}

function scoreAll(weights: Weights, samples: Samples, rows: Int32Array): Scored {
  return {
    logOdds: Float64Array.from(rows, (row) => logOddsOf(weights, samples, row).logOdds),
    isAbusive: Uint8Array.from(rows, (row) => samples.isAbusive[row] as number),
  }
}

function rounded({ bias, weights }: Weights): Weights {
  return {
    bias: round(bias, 1e4),
    weights: weights.map((weight) => (Math.abs(weight) < WEIGHT_MIN ? 0 : round(weight, 100))),
  }
}

/** The score from which a buyer is blocked leaves at most WRONG_SHARE_MAX of the held-out people above it. */
function stepsOf({ uids }: Samples, held: Int32Array, scored: Scored, { a, b }: Calibration): ScoreStep[] {
  const highest = new Map<number, number>()
  for (const [index, row] of held.entries()) {
    if (scored.isAbusive[index] === 1) continue
    const [uid, score] = [uids[row] as number, sigmoid(a * (scored.logOdds[index] as number) + b)]
    highest.set(uid, Math.max(score, highest.get(uid) ?? 0))
  }
  const scores = [...highest.values()].sort((one, other) => other - one)
  const worst = scores[Math.floor(scores.length * WRONG_SHARE_MAX)] ?? 0
  const blocked = Math.min(BLOCK_SCORE_MAX, Math.max(BLOCK_SCORE_MIN, round(worst + (1 - worst) / 4, 1e4)))
  return [...MILD_STEPS, FALLS_FIRST, { score: blocked, ...BLOCKED }]
}

function confusionOf({ logOdds, isAbusive }: Scored, { a, b }: Calibration): Trained['confusion'] {
  const confusion = { truePositive: 0, falsePositive: 0, trueNegative: 0, falseNegative: 0 }
  for (const [row, z] of logOdds.entries()) {
    const isSaid = sigmoid(a * z + b) >= 0.5
    if (isAbusive[row] === 1) confusion[isSaid ? 'truePositive' : 'falseNegative']++
    else confusion[isSaid ? 'falsePositive' : 'trueNegative']++
  }
  return confusion
}

function round(value: number, per: number): number {
  return Math.round(value * per) / per
}
