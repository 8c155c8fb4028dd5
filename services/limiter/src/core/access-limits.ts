/**
 * Limits of access per buyer, address, subnet, product or all, as the activity's document has them now.
 *
 * ```
 *   access ─► uid ─► ip ─► subnet ─► sku ─► global ─► allowed      narrow ones first: who asks too much is refused before
 *              └───────┴──────┴───────┴───────┴─ refused           he takes of what is everybody's
 *                                                └─ what the limits before it took is put back
 * ```
 */

import { type AccessLimit, type ActivityDoc, subnetOf } from '@bigtap/domain'
import { type Clock, createLimiter, type KeyedLimiter, KeyRoom, type LimitSettings, type Metrics } from '@bigtap/kernel'

/** Most keys that one limit remembers; the key unused for longest is forgotten. */
export const LIMIT_KEYS_MAX = 200_000
/** Most keys of all limits together, about 160 MB, beside 1,024 that each limit has in any case. */
export const LIMIT_KEYS_TOTAL_MAX = 1_000_000
/** Activities whose limits have state at a time; the one unused for longest is forgotten. */
export const LIMITED_ACTIVITIES_MAX = 64
/** Shown at /debug/config. */
export const ACCESS_LIMIT_LIMITS = {
  limitKeysMax: LIMIT_KEYS_MAX,
  limitKeysTotalMax: LIMIT_KEYS_TOTAL_MAX,
  limitedActivitiesMax: LIMITED_ACTIVITIES_MAX,
} as const
/** How often it is looked whether the share of this process has changed, ms. */
const SHARE_EVERY_MS = 100

/** What a limit counts by. */
export type LimitScope = AccessLimit['scope']

/** The scopes in the order in which they are tried. */
export const LIMIT_SCOPES: readonly LimitScope[] = ['uid', 'ip', 'subnet', 'sku', 'global']
/** Budgets of the whole platform, of which this process has a share. */
const SHARED: readonly LimitScope[] = ['sku', 'global']

interface Limit {
  source: AccessLimit
  readonly limiter: KeyedLimiter
}

interface ActivityLimits {
  readonly source: readonly AccessLimit[]
  readonly limits: readonly Limit[]
}

/** Who asks for what. The address is read only when a limit needs it. */
export interface Access {
  readonly uid: number
  readonly skuId: number
  address(): string
}

/** Gives the share, 0..1, of the budgets of scope `sku` and `global` that this process may give away at `now`. */
export interface AccessLimitParts {
  shareAt?(now: number): number
}

/** The limits of all activities. A change keeps what was counted wherever scope, algorithm and seconds stay the same. */
export class AccessLimits {
  /** Refusals since the start, by the scope that refused. */
  readonly refused: Record<LimitScope, number> = { uid: 0, ip: 0, subnet: 0, sku: 0, global: 0 }
  readonly #shareAt: (now: number) => number
  readonly #byActivity = new Map<number, ActivityLimits>()
  readonly #room = new KeyRoom(LIMIT_KEYS_TOTAL_MAX)
  #share = 1
  #sharedAt = Number.NEGATIVE_INFINITY

  constructor({ shareAt = () => 1 }: AccessLimitParts = {}) {
    this.#shareAt = shareAt
  }

  /** The share of the budgets in force. */
  shareAt(now: number): number {
    if (now - this.#sharedAt >= SHARE_EVERY_MS || now < this.#sharedAt) this.#followShare(now)
    return this.#share
  }

  /** Keys that are remembered now. */
  get keys(): number {
    return this.#sum(({ limiter }) => limiter.size)
  }

  /** Declares its figures. */
  watch(metrics: Metrics, clock: Clock): void {
    for (const scope of LIMIT_SCOPES) {
      const read = () => this.refused[scope]
      metrics.gauge('bigtap_limiter_limited_total', 'Accesses refused by a limit, by its scope', read, { scope })
    }
    metrics.gauge('bigtap_limiter_limit_keys_count', 'Keys that limits remember', () => this.keys)
    metrics.gauge('bigtap_limiter_limit_keys_forgotten_count', 'Keys that made room for others', () =>
      this.#sum(({ limiter }) => limiter.evicted),
    )
    const share = () => this.shareAt(clock.now())
    metrics.gauge('bigtap_limiter_budget_share_ratio', 'Part of the shared budgets that is ours', share)
  }

  /** Takes one access: 0 when it is allowed, else the ms after which it would be. A refused one takes nothing anywhere. */
  take(activity: ActivityDoc, access: Access, now: number): number {
    if (activity.accessLimits.length === 0) return 0
    this.shareAt(now)
    const limits = this.#limitsOf(activity)
    for (let index = 0; index < limits.length; index++) {
      const { source, limiter } = limits[index] as Limit
      const waitMs = limiter.take(keyOf(source.scope, access), now)
      if (waitMs === 0) continue
      this.refused[source.scope]++
      for (let taken = 0; taken < index; taken++) limits[taken]?.limiter.putBack()
      return waitMs
    }
    return 0
  }

  #followShare(now: number): void {
    this.#sharedAt = now
    const share = this.#shareAt(now)
    if (share === this.#share) return
    this.#share = share
    for (const { limits } of this.#byActivity.values())
      for (const { source, limiter } of limits) if (isShared(source)) limiter.retune(settingsOf(source, share))
  }

  #limitsOf({ id, accessLimits }: ActivityDoc): readonly Limit[] {
    const known = this.#byActivity.get(id)
    if (known !== undefined && known.source === accessLimits) return known.limits
    const limits = this.#follow(known?.limits ?? [], accessLimits)
    this.#byActivity.delete(id)
    if (this.#byActivity.size >= LIMITED_ACTIVITIES_MAX) this.#forgetOldest()
    this.#byActivity.set(id, { source: accessLimits, limits })
    return limits
  }

  /** First each finds the one that says the same, then one of its kind; what nobody finds is let go. */
  #follow(before: readonly Limit[], sources: readonly AccessLimit[]): readonly Limit[] {
    const left = new Set(before)
    const claim = (isLike: (limit: Limit) => boolean) => {
      const found = [...left].find(isLike)
      if (found !== undefined) left.delete(found)
      return found
    }
    const same = sources.map((source) => claim((limit) => isSame(limit.source, source)))
    const limits = sources.map((source, index) => {
      const limit = same[index] ?? claim((other) => isSameKind(other.source, source))
      return limit === undefined ? this.#make(source) : this.#retune(limit, source)
    })
    for (const { limiter } of left) limiter.release()
    return limits.sort((a, b) => LIMIT_SCOPES.indexOf(a.source.scope) - LIMIT_SCOPES.indexOf(b.source.scope))
  }

  #make(source: AccessLimit): Limit {
    const settings = { ...settingsOf(source, this.#share), keysMax: LIMIT_KEYS_MAX, room: this.#room }
    return { source, limiter: createLimiter(settings) }
  }

  #retune(limit: Limit, source: AccessLimit): Limit {
    if (!isSame(limit.source, source)) limit.limiter.retune(settingsOf(source, this.#share))
    limit.source = source
    return limit
  }

  #forgetOldest(): void {
    for (const [id, { limits }] of this.#byActivity) {
      for (const { limiter } of limits) limiter.release()
      this.#byActivity.delete(id)
      return
    }
  }

  #sum(read: (limit: Limit) => number): number {
    let sum = 0
    for (const { limits } of this.#byActivity.values()) for (const limit of limits) sum += read(limit)
    return sum
  }
}

/**
 * A shared budget is this process's part of it, but never less than one access in the limit's time: nobody is blocked for
 * ever. So n limiters together may exceed a budget by up to n accesses in that time, and only where it is smaller than
 * one for each.
 */
function settingsOf(source: AccessLimit, share: number): LimitSettings {
  const { algorithm, seconds, maxCount, burst } = source
  if (!isShared(source)) return { algorithm, seconds, maxCount, burst }
  const partOf = (count: number) => Math.max(1, count * share)
  return { algorithm, seconds, maxCount: partOf(maxCount), ...(burst === undefined ? {} : { burst: partOf(burst) }) }
}

function isShared({ scope }: AccessLimit): boolean {
  return SHARED.includes(scope)
}

function isSame(a: AccessLimit, b: AccessLimit): boolean {
  return a === b || (isSameKind(a, b) && a.maxCount === b.maxCount && a.burst === b.burst)
}

function isSameKind(a: AccessLimit, b: AccessLimit): boolean {
  return a.scope === b.scope && a.algorithm === b.algorithm && a.seconds === b.seconds
}

function keyOf(scope: LimitScope, access: Access): number | string {
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
