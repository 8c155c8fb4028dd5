/** k6 run -e BASE_URL=http://127.0.0.1:8000 -e ACTIVITY=1 -e SKU=1 loadtest/k6/src/smoke.ts */

import exec from 'k6/execution'
import scenarios from '../../scenarios.json' with { type: 'json' }
import { visit } from './buyer.ts'
import { optionsOf } from './options.ts'

/** Numbers of the scenario `smoke`. */
export const options = optionsOf(scenarios.smoke)

const FIRST_UID = 5_000_000

/** One iteration is one buyer. */
export default function buyer(): void {
  const target = {
    baseUrl: __ENV.BASE_URL ?? 'http://127.0.0.1:8000',
    activityId: Number(__ENV.ACTIVITY),
    skuId: Number(__ENV.SKU),
    patienceSeconds: scenarios.smoke.patienceSeconds,
  }
  visit(target, FIRST_UID + exec.scenario.iterationInTest, Date.now)
}
