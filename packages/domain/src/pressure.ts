/** Document `pressure`: what cart, counter and order can take, as a factor on every pace. */

import { Fields, type Parsed } from './checks.ts'

/** Every pace is multiplied by `factor`; `reason` says who asked for it, in words. `at` in ms since the epoch. */
export interface PressureDoc {
  readonly factor: number
  readonly reason: string
  readonly at: number
}

/** Key of the document. */
export const PRESSURE_KEY = 'pressure'
/** The pace never falls below this share: a sale that stands still tells nothing about the pressure. */
export const PRESSURE_FACTOR_MIN = 0.05
/** Nobody is under pressure; holds while there is no document. */
export const NO_PRESSURE: PressureDoc = { factor: 1, reason: '', at: 0 }

const REASON_LENGTH_MAX = 200

/** Reads document `pressure`. */
export function parsePressureDoc(value: unknown): Parsed<PressureDoc> {
  const fields = new Fields(value)
  return fields.done({
    factor: fields.number('factor', { min: PRESSURE_FACTOR_MIN, max: 1, fraction: true }),
    reason: fields.text('reason', REASON_LENGTH_MAX, ''),
    at: fields.time('at'),
  })
}
