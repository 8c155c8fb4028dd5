/** k6's options from `loadtest/scenarios.json`: an open model, buyers arriving at a constant rate. */

import type { Options } from 'k6/options'

/** One row of `scenarios.json`. */
export interface ScenarioNumbers {
  readonly buyers: number
  readonly arriveSeconds: number
  readonly patienceSeconds: number
  readonly checkRateMin: number
}

/** Makes the options of one scenario. */
export function optionsOf(numbers: ScenarioNumbers): Options {
  return {
    scenarios: {
      buyers: {
        executor: 'constant-arrival-rate',
        rate: Math.ceil(numbers.buyers / numbers.arriveSeconds),
        timeUnit: '1s',
        duration: `${numbers.arriveSeconds}s`,
        preAllocatedVUs: Math.min(numbers.buyers, 500),
        maxVUs: numbers.buyers,
        gracefulStop: `${numbers.patienceSeconds}s`,
      },
    },
    thresholds: { checks: [`rate>=${numbers.checkRateMin}`] },
  }
}
