/** Fourth stage: limits of access per buyer, address, subnet, product or all, as the activity's document has them now. */

import type { AccessLimit, ActivityDoc } from '@bigtap/domain'
import { createLimiter, type KeyedLimiter } from '@bigtap/kernel'
import { subnetOf } from './address.ts'

/** Most keys that one limit remembers, about 25 MB; the key unused for longest is forgotten. */
export const LIMIT_KEYS_MAX = 200_000
/** Activities whose limits have state at a time; the one unused for longest is forgotten. */
export const LIMITED_ACTIVITIES_MAX = 64

interface Limit {
  readonly scope: AccessLimit['scope']
  readonly limiter: KeyedLimiter
}

interface ActivityLimits {
  readonly text: string
  readonly source: readonly AccessLimit[]
  readonly limits: readonly Limit[]
}

/** Who asks for what. The address is read only when a limit needs it. */
export interface Access {
  readonly uid: number
  readonly skuId: number
  address(): string
}

/** The limits of all activities; a change of the document's limits starts them afresh, any other change does not. */
export class AccessLimits {
  readonly #byActivity = new Map<number, ActivityLimits>()

  /** Takes one access: 0 when it is allowed, else the ms after which it would be. */
  take(activity: ActivityDoc, access: Access, now: number): number {
    if (activity.accessLimits.length === 0) return 0
    for (const { scope, limiter } of this.#limitsOf(activity)) {
      const waitMs = limiter.take(keyOf(scope, access), now)
      if (waitMs > 0) return waitMs
    }
    return 0
  }

  #limitsOf({ id, accessLimits }: ActivityDoc): readonly Limit[] {
    const known = this.#byActivity.get(id)
    if (known !== undefined && known.source === accessLimits) return known.limits
    const text = JSON.stringify(accessLimits)
    const limits = known?.text === text ? known.limits : accessLimits.map(makeLimit)
    this.#byActivity.delete(id)
    if (this.#byActivity.size >= LIMITED_ACTIVITIES_MAX) {
      for (const oldest of this.#byActivity.keys()) {
        this.#byActivity.delete(oldest)
        break
      }
    }
    this.#byActivity.set(id, { text, source: accessLimits, limits })
    return limits
  }
}

function makeLimit({ scope, ...limit }: AccessLimit): Limit {
  return { scope, limiter: createLimiter({ ...limit, keysMax: LIMIT_KEYS_MAX }) }
}

function keyOf(scope: AccessLimit['scope'], access: Access): number | string {
  switch (scope) {
    case 'uid':
      return access.uid
    case 'sku':
      return access.skuId
    case 'ip':
      return access.address()
    case 'subnet':
      return subnetOf(access.address())
    case 'global':
      return 0
  }
}
