/** Logistic regression over the features of a buyer. */

import { ABUSE_MODEL_SIZE, type AbuseModelDoc } from '@bigtap/domain'
import { FEATURES, IS_NEIGHBOURS, placesOf, TERM_NAMES, TERMS } from './features.ts'

/** Most that neighbours may add to a score, in log odds: they make a suspicion stronger and are never one by themselves. */
export const NEIGHBOURS_LOG_ODDS_MAX = 1.5

/** What one feature, or a pair, added to a score. */
export interface Contribution {
  readonly feature: string
  readonly logOdds: number
}

/** Scores buyers by one model; its arrays are used again for each. */
export class Scorer {
  readonly model: AbuseModelDoc
  /** Figures of the buyer in hand, one per feature; the caller fills them. */
  readonly values = new Float64Array(FEATURES.length)
  readonly #weights = new Float64Array(ABUSE_MODEL_SIZE)
  readonly #places = new Uint16Array(TERMS)

  constructor(model: AbuseModelDoc) {
    this.model = model
    for (const [index, place] of model.places.entries()) this.#weights[place] = model.weights[index] ?? 0
  }

  /** Probability of abuse, 0..1, of the buyer whose figures stand in `values`. */
  score(): number {
    placesOf(this.values, this.#places)
    const { bias, calibration } = this.model
    const logOdds = bias + sumOf(this.#weights, this.#places)
    return sigmoid(calibration.a * logOdds + calibration.b)
  }

  /** What each term added to the last score before its calibration, the largest first; terms that add nothing are left out. */
  contributions(): Contribution[] {
    placesOf(this.values, this.#places)
    return TERM_NAMES.map((feature, term) => ({
      feature,
      logOdds: this.#weights[this.#places[term] as number] as number,
    }))
      .filter(({ logOdds }) => logOdds !== 0)
      .sort((one, other) => Math.abs(other.logOdds) - Math.abs(one.logOdds))
  }
}

/** Sum of the weights of a sample, where neighbours add at most NEIGHBOURS_LOG_ODDS_MAX. */
export function sumOf(weights: Float64Array, places: Uint16Array): number {
  let [own, neighbours] = [0, 0]
  for (let term = 0; term < TERMS; term++) {
    const weight = weights[places[term] as number] as number
    if (IS_NEIGHBOURS[term] === 1) neighbours += weight
    else own += weight
  }
  return own + Math.min(neighbours, NEIGHBOURS_LOG_ODDS_MAX)
}

/** 1 / (1 + exp(-x)). */
export function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x))
}
