/** Verdicts about those who ask: how they are graded, and why. */

/** How good the traffic of somebody is: 0 best … 5 worst. The worst falls first. */
export type Tier = 0 | 1 | 2 | 3 | 4 | 5

/** How many tiers there are. */
export const TIER_COUNT = 6
/** Ranks of a tier: its cohorts. */
export const COHORT_COUNT = 16
/** Ranks of asks in all, 0 best: tier x 16 + cohort. Limiters shed by them, and Middle names one in its threshold. */
export const RANK_COUNT = TIER_COUNT * COHORT_COUNT
/** From this tier on an enforced verdict blocks (403 `blocked`). */
export const BLOCKED_TIER: Tier = 5

/** What a verdict is about. */
export type SubjectKind = 'uid' | 'ip' | 'subnet' | 'device'

/** The kinds of subjects; their place is their number on the wire. */
export const SUBJECT_KINDS: readonly SubjectKind[] = ['uid', 'ip', 'subnet', 'device']

/**
 * A verdict of antiblack or of an operator. Only a uid is ever blocked by an enforced verdict of tier 5: what is said of an
 * address grades those behind it at most 4, so that nobody is refused for a neighbour.
 */
export interface AbuseVerdict {
  /** Lower hexadecimal, 16 digits; a newer verdict about the same subject has another. */
  readonly id: string
  readonly kind: SubjectKind
  /** uid in decimal, address, subnet (a.b.c or four groups), or a device as lower hexadecimal digits. */
  readonly key: string
  readonly tier: Tier
  /** In words, for operators: the rule, or the features that weighed most. */
  readonly reason: string
  /** Probability of abuse, 0..1; 1 for a rule or an operator. */
  readonly score: number
  /** Ms since the epoch. */
  readonly at: number
  readonly expiresAt: number
  /** In shadow mode it is shown and counted, and changes nothing. */
  readonly isShadow: boolean
  /** Who gave it: `antiblack`, or an operator's name. */
  readonly by: string
}

/** Name of a subject: `uid:7`, `ip:10.0.0.1`, `subnet:10.0.0`, `device:0123…`. */
export function subjectOf({ kind, key }: Pick<AbuseVerdict, 'kind' | 'key'>): string {
  return `${kind}:${key}`
}

/** The /24 of an IPv4 address (a.b.c), the /64 of an IPv6 address (four groups): what a verdict about a subnet names. */
export function subnetOf(address: string): string {
  if (!address.includes(':')) return address.slice(0, Math.max(0, address.lastIndexOf('.')))
  const [head = '', tail = ''] = address.split('::', 2)
  const first = head === '' ? [] : head.split(':')
  const last = tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0')
  const groups = address.includes('::') ? [...first, ...zeros, ...last] : first
  return groups
    .slice(0, 4)
    .map((group) => (Number.parseInt(group, 16) || 0).toString(16))
    .join(':')
}
