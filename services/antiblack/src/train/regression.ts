/** Logistic regression by AdaGrad (Duchi, Hazan and Singer, 2011) with L2, in an order drawn from the seed. */

import { ABUSE_MODEL_SIZE } from '@bigtap/domain'
import { IS_NEIGHBOURS, TERMS } from '../core/features.ts'
import { NEIGHBOURS_LOG_ODDS_MAX, sigmoid } from '../core/scorer.ts'
import { seeded } from './chance.ts'
import type { Samples } from './samples.ts'

/** Terms of a training. */
export interface RegressionTerms {
  readonly seed: number
  readonly epochs: number
  readonly rate: number
  /** Pulls each weight towards 0, per sample that it is in. */
  readonly l2: number
}

/** What was learnt. */
export interface Weights {
  bias: number
  readonly weights: Float64Array
}

/** Learns from the samples of `rows`. The same input gives the same weights. */
export function learn(samples: Samples, rows: Int32Array, { seed, epochs, rate, l2 }: RegressionTerms): Weights {
  const draw = seeded(seed)
  const learnt: Weights = { bias: 0, weights: new Float64Array(ABUSE_MODEL_SIZE) }
  const squares = new Float64Array(ABUSE_MODEL_SIZE).fill(1e-6)
  const order = rows.slice()
  let biasSquares = 1e-6
  for (let epoch = 0; epoch < epochs; epoch++) {
    shuffle(order, draw)
    for (const row of order) {
      const { logOdds, isCapped } = logOddsOf(learnt, samples, row)
      const error = sigmoid(logOdds) - (samples.isAbusive[row] as number)
      biasSquares += error * error
      learnt.bias -= (rate * error) / Math.sqrt(biasSquares)
      for (let term = 0; term < TERMS; term++) {
        if (isCapped && IS_NEIGHBOURS[term] === 1 && error < 0) continue // more of it would change nothing
        const place = samples.places[row * TERMS + term] as number
        const weight = learnt.weights[place] as number
        const gradient = error + l2 * weight
        squares[place] = (squares[place] as number) + gradient * gradient
        learnt.weights[place] = weight - (rate * gradient) / Math.sqrt(squares[place] as number)
      }
    }
  }
  return learnt
}

/** Log odds of a sample; neighbours add no more than they may, and `isCapped` says that they wanted to. */
export function logOddsOf(
  { bias, weights }: Weights,
  { places }: Samples,
  row: number,
): { logOdds: number; isCapped: boolean } {
  let [own, neighbours] = [bias, 0]
  for (let term = 0; term < TERMS; term++) {
    const weight = weights[places[row * TERMS + term] as number] as number
    if (IS_NEIGHBOURS[term] === 1) neighbours += weight
    else own += weight
  }
  const isCapped = neighbours > NEIGHBOURS_LOG_ODDS_MAX
  return { logOdds: own + (isCapped ? NEIGHBOURS_LOG_ODDS_MAX : neighbours), isCapped }
}

function shuffle(list: Int32Array, draw: () => number): void {
  for (let index = list.length - 1; index > 0; index--) {
    const other = Math.floor(draw() * (index + 1))
    const kept = list[index] as number
    list[index] = list[other] as number
    list[other] = kept
  }
}
