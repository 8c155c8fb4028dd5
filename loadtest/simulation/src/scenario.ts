/** What a seed stands for: a sale, a crowd, and the faults that meet them. */

import {
  type ActivityDoc,
  type Admission,
  DEFAULT_POLICY,
  DEFAULT_WAITING,
  NO_CHALLENGE,
  NO_RESERVATION,
  type PurchaseRule,
  type SkuDoc,
  type WaitingDoc,
} from '@bigtap/domain'
import { drawHashes } from '@bigtap/token'
import type { Traits } from './platform/buyer.ts'
import type { SimSale } from './platform/site.ts'
import { EPOCH_MS, type World } from './world/world.ts'

/** How many of each service there are. */
export interface Counts {
  readonly limiters: number
  readonly middles: number
  readonly counters: number
  readonly masters: number
}

/** Times of a run, ms since the start. */
export const TIMES = {
  opensAt: 3_000,
  faultsFrom: 2_000,
  faultsUntil: 9_000,
  finishFrom: 9_700,
  giveUpAt: 45_000,
  drain: 2_500,
  settle: 3_000,
}

/** A whole run. */
export interface Scenario {
  readonly counts: Counts
  readonly sale: SimSale
  readonly buyers: readonly { uid: number; at: number; traits: Traits }[]
  readonly faults: number
}

const RULES: readonly PurchaseRule[] = ['once-per-product', 'once-per-product', 'one-product-per-activity', 'unlimited']

/** Draws a scenario. */
export function drawScenario(world: World): Scenario {
  const sale = withWaiting(drawSale(world), world.seed)
  const count = 14 + world.below(26)
  return {
    counts: { limiters: 2, middles: 2 + world.below(2), counters: 1 + world.below(2), masters: 2 },
    sale,
    buyers: Array.from({ length: count }, (_, index) => drawBuyer(world, sale, index + 1)),
    faults: world.below(15),
  }
}

function drawSale(world: World): SimSale {
  const skuIds = Array.from({ length: 1 + world.below(2) }, (_, index) => index + 1)
  const activity: ActivityDoc = {
    ...{
      id: 7,
      title: 'a simulated sale',
      state: 'scheduled',
      stage: 'middle',
      rule: RULES[world.below(RULES.length)] ?? 'unlimited',
    },
    ...{
      opensAt: EPOCH_MS + TIMES.opensAt,
      closesAt: EPOCH_MS + 3_600_000,
      admission: 'direct',
      waiting: DEFAULT_WAITING,
      challenge: NO_CHALLENGE,
    },
    ...{ reservation: NO_RESERVATION, skuIds, accessLimits: [] },
  }
  const limitPerBuyer = world.chance(0.8) ? 1 : 2
  return { activity, skus: skuIds.map((id) => drawSku(world, { id, activityId: activity.id, limitPerBuyer })) }
}

/**
 * How buyers wait follows from the seed itself, so that seeds of direct sales do what they did before there were lines:
 * of eight, five are direct, one of them with a waiting list, two have a queue, one a draw.
 */
function withWaiting(sale: SimSale, seed: number): SimSale {
  const kind = seed % 8
  if (kind === 0) return withTerms(sale, 'direct', { ...QUICK, hasWaitingList: true })
  if (kind === 3) return withTerms(sale, 'queue', QUICK)
  if (kind === 7 && seed % 16 === 7) return withTerms(sale, 'queue', QUICK)
  if (kind !== 7) return sale
  const drawSeed = drawHashes.sha256(`seed ${seed}`)
  return withTerms(sale, 'draw', { ...QUICK, drawSeconds: 1, drawSeed, drawCommit: drawHashes.sha256OfHex(drawSeed) })
}

const QUICK = { heartbeatSeconds: 3, callSeconds: 2 }

function withTerms({ activity, skus }: SimSale, admission: Admission, waiting: Partial<WaitingDoc>): SimSale {
  return { activity: { ...activity, admission, waiting: { ...DEFAULT_WAITING, ...waiting } }, skus }
}

function drawSku(
  world: World,
  { id, activityId, limitPerBuyer }: Pick<SkuDoc, 'id' | 'activityId' | 'limitPerBuyer'>,
): SkuDoc {
  const pace = world.chance(0.5) ? null : 10 + world.below(60)
  const policy = {
    ...DEFAULT_POLICY,
    ...{ pacePerSecond: pace, taperAt: world.random.next() * 0.5, taperPacePerSecond: pace === null ? null : pace / 2 },
    ...{ trickleAt: world.below(3), overbook: world.chance(0.3) ? 1.3 : 1 },
    ...{ holdSeconds: 1 + world.below(3), tokenSeconds: 1 + world.below(3) },
  }
  const stock = 3 + world.below(16)
  const rest = { title: `product ${id}`, priceCents: 1_000, currency: 'EUR', imageUrl: '', paused: false }
  return { id, activityId, stock, limitPerBuyer, policy, ...rest }
}

function drawBuyer(world: World, { activity }: SimSale, uid: number): Scenario['buyers'][number] {
  const isBot = world.chance(0.25)
  const skuIds = isBot ? activity.skuIds : [activity.skuIds[world.below(activity.skuIds.length)] ?? 1]
  const traits = {
    ...{ skuIds, clicks: isBot ? 2 + world.below(2) : 1 + world.below(2), until: TIMES.faultsUntil },
    ...{ pays: isBot ? 0.3 : 0.6, paysLate: 0.1, cancels: isBot ? 0.3 : 0.1 },
  }
  return { uid, at: TIMES.opensAt - 700 + world.between(0, isBot ? 900 : 4_000), traits }
}

/** Who buys what is left when all faults are over, and pays at once. */
export function finisher(skuId: number, until: number): Traits {
  return { skuIds: [skuId], clicks: 1, pays: 1, paysLate: 0, cancels: 0, until }
}
