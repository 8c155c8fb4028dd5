/** The truth about a crowd, for the training of antiblack's model and for judging its verdicts. Pure. */

import type { BuyerPlan } from './buyer-plan.ts'
import { isAbusive, type Profile } from './profiles.ts'

/** One buyer's label. */
export interface Label {
  readonly uid: number
  readonly profile: Profile
  readonly isAbusive: boolean
}

/** One label per uid, in the order of arrival. */
export function labelsOf(plans: readonly BuyerPlan[]): Label[] {
  const labels = new Map<number, Label>()
  for (const { uid, profile } of plans) {
    if (!labels.has(uid)) labels.set(uid, { uid, profile, isAbusive: isAbusive(profile) })
  }
  return [...labels.values()]
}

/** The labels as JSON lines. */
export function labelLines(plans: readonly BuyerPlan[]): string {
  return labelsOf(plans)
    .map((label) => `${JSON.stringify(label)}\n`)
    .join('')
}
