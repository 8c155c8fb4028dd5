/** When to pull, and how long to wait for an answer. */
export interface PullPace {
  /** Time from the beginning of one round to that of the next, ms. */
  readonly everyMs: number
  /** A round waits this long for its last answers, ms; one that comes later still counts. */
  readonly deadlineMs: number
  /** Rounds in a row that took more than half the interval. */
  readonly longRounds: number
}

/** How a round went. */
export interface PullRound {
  readonly nodes: number
  /** From the questions to the last answer that came before the next round; a node that never answers does not count. */
  readonly tookMs: number
}

/** Longest wait for one node, ms. */
export const PULL_DEADLINE_MS = 400
/** The interval is never narrower, nor wider, ms. */
export const EVERY_MS = { min: 100, max: 10_000 } as const
/** So many nodes are pulled at the interval that was set; each further so many widen it once more. */
export const NODES_PER_INTERVAL = 200

/** One long round may be a moment's standstill: only this many in a row widen the interval. */
const LONG_ROUNDS = 2

/**
 * The pace of the next round: twice as wide when two rounds in a row took more than half the interval, narrower again when
 * one took less than a quarter, never below what was set and what the number of nodes asks for.
 */
export function nextPace(baseMs: number, pace: PullPace, { nodes, tookMs }: PullRound): PullPace {
  const floorMs = baseMs * Math.max(1, Math.ceil(nodes / NODES_PER_INTERVAL))
  const { everyMs } = pace
  const longRounds = tookMs > everyMs / 2 ? pace.longRounds + 1 : 0
  if (longRounds >= LONG_ROUNDS) return paceOf(Math.max(floorMs, everyMs * 2))
  const narrowedMs = tookMs < everyMs / 4 ? everyMs / 2 : everyMs
  return { ...paceOf(Math.max(floorMs, narrowedMs)), longRounds }
}

/** The pace with an interval. */
export function paceOf(wishedMs: number): PullPace {
  const everyMs = Math.min(EVERY_MS.max, Math.max(EVERY_MS.min, wishedMs))
  return { everyMs, deadlineMs: Math.min(PULL_DEADLINE_MS, everyMs / 2), longRounds: 0 }
}

/** A node as the list of nodes has it. */
export interface PullCandidate {
  readonly id: string
  readonly role: string
  readonly statsAddress: string
  readonly ageMs: number
}

/** A node that is to be pulled. */
export interface PullTarget {
  readonly id: string
  readonly address: string
}

/** A node that was not heard of for longer is not dialled any more, ms. */
export const GONE_MS = 30_000

/** Whom to pull: who has an address for it and was heard of lately, at most `nodesMax`, the ones heard last first. */
export function targetsOf(candidates: readonly PullCandidate[], nodesMax: number): PullTarget[] {
  return candidates
    .filter(({ statsAddress, ageMs }) => statsAddress !== '' && statsAddress !== undefined && ageMs <= GONE_MS)
    .sort((a, b) => a.ageMs - b.ageMs)
    .slice(0, nodesMax)
    .map(({ id, statsAddress }) => ({ id, address: statsAddress }))
}
