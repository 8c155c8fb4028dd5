/** The cohort of a buyer in an activity: who falls first among equals. */

import { COHORT_COUNT } from '@bigtap/domain'
import { mix } from '@bigtap/kernel'

const HIGH = 2 ** 32
/** 16 cohorts with 256 steps in each, so that a threshold can stand within one. */
const STEPS = 4_096

/** Two words of a secret that all limiters share. */
export interface CohortKey {
  readonly a: number
  readonly b: number
}

/**
 * Where a buyer stands among those of the same tier: 0 to below 16, in steps of 1/256; the whole part is the cohort. A
 * keyed hash of activity and uid: the same at every limiter, another in every activity, so that no buyer is always last,
 * and nobody without the key can pick uids that are first. MurmurHash3's finalizer over the words, the key before each.
 */
export function cohortOf(key: CohortKey, activityId: number, uid: number): number {
  const seed = mix(key.a ^ activityId)
  const low = mix(seed ^ (uid >>> 0))
  const high = mix(low ^ key.b ^ Math.imul(Math.floor(uid / HIGH) >>> 0, 0x9e3779b1))
  return (mix(high ^ seed) & (STEPS - 1)) * (COHORT_COUNT / STEPS)
}
