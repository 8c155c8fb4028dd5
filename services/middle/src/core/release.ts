import {
  type ActivityDoc,
  type Figures,
  isSelling,
  SKU_GATES,
  type SkuDoc,
  type SkuEvent,
  type SkuGate,
  type SkuState,
  skuStep,
  VERDICT,
} from '@bigtap/domain'
import { EARLY_MS } from './decide.ts'
import { NO_PRESSING, type Pacing, paceUnder } from './pacing.ts'
import { GATE_OPEN, GATE_QUEUED, RULE_CODE, type SkuTable } from './sku-table.ts'
import { estimateWaiting, LOOK_EVERY_MS } from './waiting-crowd.ts'

/** What the release of a SKU is told: its documents, the newest figures (none before the first lease), the time. */
export interface ReleaseFacts {
  readonly activity: ActivityDoc
  readonly doc: SkuDoc
  readonly figures: Figures | undefined
  readonly now: number
  /** What lowers the pace; nothing when left out. */
  readonly pacing?: Pacing
  /** Nodes that decide, 1 when left out. */
  readonly nodes?: number
}

/** The machine is opened this long before the time; until then `opensAt` in the table refuses. Two ticks. */
const AHEAD_MS = 200
const RETRY_MS = { pool: 150, held: 1_000 } as const
const ETA_MS_MAX = 3_600_000
/** So many of those who wait ask for each place that the pace gives: a place lies idle for a third of its turn at most. */
const ASKS_PER_PLACE = 3
/** Without a pace those who wait come back as fast as there are places, but no faster than this at one node. */
const RETURNS_PER_SECOND_MAX = 10_000

const GATE_CODES: Readonly<Record<SkuGate, number>> = {
  shut: VERDICT.notStarted,
  'not-started': VERDICT.notStarted,
  open: GATE_OPEN,
  queued: GATE_QUEUED,
  'sold-out': VERDICT.soldOut,
  paused: VERDICT.paused,
  ended: VERDICT.ended,
}

/**
 * Moves the release machine of one SKU by what the documents and the ledger say, and writes what decide reads. Safe to
 * call at any time and any number of times: the state follows from the facts, grants are untouched.
 */
export function stepRelease(skus: SkuTable, sku: number, facts: ReleaseFacts): void {
  const { activity, doc, figures } = facts
  let state = skus.state[sku] ?? 'idle'
  for (const event of eventsOf(state, facts)) state = skuStep(state, event, doc.policy)
  skus.state[sku] = state
  skus.gate[sku] = GATE_CODES[SKU_GATES[state]]
  skus.opensAt[sku] = activity.opensAt - EARLY_MS
  skus.closesAt[sku] = activity.closesAt
  skus.rule[sku] = RULE_CODE[activity.rule]
  skus.limitPerBuyer[sku] = doc.limitPerBuyer
  if (figures !== undefined) writeQueue(skus, sku, state, { ...facts, figures })
}

function eventsOf(state: SkuState, { activity, doc, figures, now }: ReleaseFacts): SkuEvent[] {
  const isOver = activity.state === 'closed' || activity.state === 'archived' || now >= activity.closesAt
  if (isOver) return [{ type: 'ended' }]
  const events: SkuEvent[] = state === 'ended' ? [{ type: 'reset' }] : []
  if (state === 'idle' || state === 'ended') events.push({ type: 'configured' })
  if (doc.paused || activity.state === 'paused') return [...events, { type: 'paused' }]
  if (figures === undefined) return events
  if (state === 'paused') events.push({ type: 'resumed', figures })
  const isOpen = isSelling({ ...activity, opensAt: activity.opensAt - AHEAD_MS }, now)
  return isOpen ? [...events, { type: 'opened', figures }, { type: 'figures', figures }] : events
}

/** What a queued buyer is told. Direct admission has no places: `ahead` is how many are taken to wait as well. */
function writeQueue(
  skus: SkuTable,
  sku: number,
  state: SkuState,
  { doc: { policy }, figures, now, pacing = NO_PRESSING, nodes = 1 }: ReleaseFacts & { figures: Figures },
): void {
  const pace = paceUnder(state, policy, pacing)
  const isWaitingForHolds = state === 'exhausted' || figures.pool + figures.leased <= 0
  const retry = isWaitingForHolds ? RETRY_MS.held : RETRY_MS.pool
  const shortest = pace === null ? retry : Math.max(retry, Math.min(RETRY_MS.held, 1_000 / pace))
  const supply = (skus.available[sku] as number) + figures.pool / nodes
  const asked = isWaitingForHolds
    ? 0
    : pace === null
      ? Math.min(RETURNS_PER_SECOND_MAX, supply)
      : (pace * ASKS_PER_PLACE) / nodes
  skus.retryAfterMs[sku] = shortest
  skus.returnsPerSecond[sku] = Math.max(skus.queuedPerSecond, asked)
  lookAtCrowd(skus, sku, now)
  const ahead = Math.round(skus.waiting[sku] as number)
  skus.ahead[sku] = ahead
  const wait = isWaitingForHolds
    ? (figures.outstanding > 0 ? policy.tokenSeconds : policy.holdSeconds) * 1_000
    : pace === null
      ? retry
      : ((ahead + 1) * 1_000) / pace
  skus.etaMs[sku] = Math.min(ETA_MS_MAX, Math.ceil(wait))
}

function lookAtCrowd(skus: SkuTable, sku: number, now: number): void {
  const elapsedMs = now - (skus.lookedAt[sku] as number)
  if (elapsedMs < LOOK_EVERY_MS) return
  const [queued, toldMs, waiting] = [
    skus.queued[sku] as number,
    skus.toldMs[sku] as number,
    skus.waiting[sku] as number,
  ]
  skus.waiting[sku] = estimateWaiting({ queued, toldMs, elapsedMs, waiting })
  skus.queued[sku] = 0
  skus.toldMs[sku] = 0
  skus.lookedAt[sku] = now
}
