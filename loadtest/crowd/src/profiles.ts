/** The kinds of people and machines that come to a sale, and what the mix of `--profile mixed` is made of. */

/** Profiles of a crowd; the names of the report and of the labels. */
export const PROFILES = ['normal', 'refresher', 'shared', 'script', 'farm', 'sharer', 'guesser', 'slow'] as const
/** One profile. */
export type Profile = (typeof PROFILES)[number]

/** Profiles that come to buy as they may; none of them must be blocked. */
export const HONEST_PROFILES = ['normal', 'refresher', 'shared'] as const
/** One of them. */
export type HonestProfile = (typeof HONEST_PROFILES)[number]
/** Profiles that abuse the sale. */
export const ABUSIVE_PROFILES = ['script', 'farm', 'sharer', 'guesser', 'slow'] as const

/** Is this profile one that antiblack should find? */
export function isAbusive(profile: Profile): boolean {
  return (ABUSIVE_PROFILES as readonly Profile[]).includes(profile)
}

/** Does this profile come to buy as it may? */
export function isHonest(profile: Profile): profile is HonestProfile {
  return !isAbusive(profile)
}

/** Shares of some profiles; they sum up to 1. */
export type Mix = readonly (readonly [profile: Profile, share: number])[]

/** Of a hundred honest buyers, 15 refresh the page and 15 sit behind an address of many. */
export const HONEST_MIX: Mix = [
  ['normal', 0.7],
  ['refresher', 0.15],
  ['shared', 0.15],
]

/** Scripts and farms are most of the abuse, in numbers and in asks. */
export const ABUSIVE_MIX: Mix = [
  ['script', 0.35],
  ['farm', 0.4],
  ['sharer', 0.1],
  ['guesser', 0.1],
  ['slow', 0.05],
]

/** Both halves of the crowd for `--profile NAME`: that profile alone takes its half, the other half is the mix. */
export function mixesOf(name: Profile | 'mixed'): { honest: Mix; abusive: Mix } {
  if (name === 'mixed') return { honest: HONEST_MIX, abusive: ABUSIVE_MIX }
  const alone: Mix = [[name, 1]]
  return isAbusive(name) ? { honest: HONEST_MIX, abusive: alone } : { honest: alone, abusive: ABUSIVE_MIX }
}

/** How many of `count` seats each profile gets: whole numbers that sum up to `count`; the first takes what is left over. */
export function seatsOf(mix: Mix, count: number): Map<Profile, number> {
  const seats = new Map(mix.map(([profile, share]) => [profile, Math.floor(count * share + 1e-9)]))
  const given = [...seats.values()].reduce((sum, part) => sum + part, 0)
  const [first] = mix[0] ?? []
  if (first !== undefined) seats.set(first, (seats.get(first) ?? 0) + count - given)
  return seats
}

/** Terms of an abusive profile; ranges are drawn evenly, times in ms. */
export interface AbuseTerms {
  /** Rounds of one seat; each sends `clicks` requests at once. */
  readonly rounds: readonly [min: number, max: number]
  readonly everyMs: readonly [min: number, max: number]
  readonly clicks: readonly [min: number, max: number]
  /** Seats behind one address (script, guesser, slow), or that share one account (sharer). */
  readonly perGroup: number
  /** Connections that one address keeps open to a limiter at most. */
  readonly connections: number
}

/** How each abusive profile behaves. A farm stays below what a person does, and counts on its numbers instead. */
export const ABUSE_TERMS: Readonly<Record<(typeof ABUSIVE_PROFILES)[number], AbuseTerms>> = {
  script: { rounds: [8, 14], everyMs: [150, 400], clicks: [1, 3], perGroup: 800, connections: 24 },
  farm: { rounds: [5, 8], everyMs: [600, 1_500], clicks: [1, 1], perGroup: 1, connections: 1 },
  sharer: { rounds: [3, 6], everyMs: [400, 1_000], clicks: [1, 2], perGroup: 30, connections: 1 },
  guesser: { rounds: [6, 12], everyMs: [100, 400], clicks: [1, 1], perGroup: 20, connections: 2 },
  slow: { rounds: [1, 2], everyMs: [500, 1_500], clicks: [1, 1], perGroup: 20, connections: 0 },
}

/** Asks that an abusive seat sends in the mean. */
export function meanAsks({ rounds, clicks }: AbuseTerms): number {
  return ((rounds[0] + rounds[1]) / 2) * ((clicks[0] + clicks[1]) / 2)
}
