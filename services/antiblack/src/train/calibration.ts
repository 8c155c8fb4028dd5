/** Platt scaling: from log odds to probabilities that mean what they say, learnt on samples that were not trained on. */

import { sigmoid } from '../core/scorer.ts'

/** Probability = 1 / (1 + exp(-(a z + b))). */
export interface Calibration {
  readonly a: number
  readonly b: number
}

/** Scored samples: log odds, and 1 for abuse. */
export interface Scored {
  readonly logOdds: Float64Array
  readonly isAbusive: Uint8Array
}

const ROUNDS = 100
const RIDGE = 1e-6
const BINS = 10

/** Fits a and b by Newton's method (Platt, 1999; targets softened as there). */
export function calibrate({ logOdds, isAbusive }: Scored): Calibration {
  const positives = isAbusive.reduce((sum, one) => sum + one, 0)
  const high = (positives + 1) / (positives + 2)
  const low = 1 / (isAbusive.length - positives + 2)
  let [a, b] = [1, 0]
  for (let round = 0; round < ROUNDS; round++) {
    let [ga, gb, haa, hab, hbb] = [0, 0, RIDGE, 0, RIDGE]
    for (let row = 0; row < logOdds.length; row++) {
      const z = logOdds[row] as number
      const p = sigmoid(a * z + b)
      const error = p - (isAbusive[row] === 1 ? high : low)
      const slope = p * (1 - p)
      ga += error * z
      gb += error
      haa += slope * z * z
      hab += slope * z
      hbb += slope
    }
    const determinant = haa * hbb - hab * hab
    const [da, db] = [(hbb * ga - hab * gb) / determinant, (haa * gb - hab * ga) / determinant]
    a = Math.min(8, Math.max(0.05, a - da))
    b = Math.min(32, Math.max(-32, b - db))
    if (Math.abs(da) + Math.abs(db) < 1e-7) break
  }
  return { a, b }
}

/** Expected calibration error: how far the mean score is from the share of abuse, over ten bins of scores, weighted by their samples. */
export function calibrationError({ logOdds, isAbusive }: Scored, { a, b }: Calibration): number {
  const bins = Array.from({ length: BINS }, () => ({ count: 0, scores: 0, abusive: 0 }))
  for (let row = 0; row < logOdds.length; row++) {
    const score = sigmoid(a * (logOdds[row] as number) + b)
    const bin = bins[Math.min(BINS - 1, Math.floor(score * BINS))]
    if (bin === undefined) continue
    bin.count++
    bin.scores += score
    bin.abusive += isAbusive[row] as number
  }
  const off = bins.reduce((sum, { scores, abusive }) => sum + Math.abs(scores - abusive), 0)
  return off / Math.max(1, logOdds.length)
}
