/**
 * Who comes to the sale, when, and how each behaves: drawn once from the seed, so that two runs with one seed have the
 * same crowd. Arrivals are an open model: they are fixed before the sale and do not wait for its answers.
 */

/** What the crowd is drawn from. `bots` is the share of `buyers` that is scripted, 0..1. */
export interface CrowdSettings {
  readonly buyers: number
  readonly bots: number
  readonly skus: number
  readonly seed: number
}

/** How a buyer behaves. Times are in ms; `arriveMs` counts from the opening and may be before it. */
export interface BuyerPlan {
  readonly uid: number
  readonly kind: 'normal' | 'bot'
  readonly skuIndex: number
  readonly arriveMs: number
  /** Buy requests sent at the same instant by one click: repeated clicks, or a script that fires in parallel. */
  readonly clicks: number
  /** How often a script asks again, whatever the answer; a person follows `retryAfterMs` instead. */
  readonly botAsks: number
  readonly botEveryMs: number
  readonly patienceMs: number
  readonly leavesToken: boolean
  readonly pays: boolean
  readonly cancels: boolean
  readonly repeatsCart: boolean
  readonly thinkMs: number
}

/** Source of chance: the next number in [0, 1). */
export type Draw = () => number

const FIRST_UID = 1_000_000
/** Half of all people have clicked within this time of the opening. */
const HALF_ARRIVED_MS = 700
const ARRIVE_MS_MAX = 5_000
const EARLY_SHARE = 0.15
const EARLY_MS_MAX = 1_500
const PATIENCE_MS = 170_000

/** Draws the crowd, sorted by arrival. */
export function planCrowd(settings: CrowdSettings, draw: Draw): BuyerPlan[] {
  const botCount = Math.round(settings.buyers * settings.bots)
  const plans = Array.from({ length: settings.buyers }, (_, index) => {
    const uid = FIRST_UID + settings.seed * 0x100_0000 + index
    return index < botCount ? planBot(uid, settings, draw) : planPerson(uid, settings, draw)
  })
  return plans.sort((a, b) => a.arriveMs - b.arriveMs)
}

function planPerson(uid: number, { skus }: CrowdSettings, draw: Draw): BuyerPlan {
  const isEarly = draw() < EARLY_SHARE
  return {
    uid,
    kind: 'normal',
    skuIndex: pick(draw, skus),
    arriveMs: isEarly ? -draw() * EARLY_MS_MAX : arrival(draw),
    clicks: draw() < 0.2 ? 2 : 1,
    botAsks: 0,
    botEveryMs: 0,
    patienceMs: PATIENCE_MS,
    leavesToken: draw() < 0.04,
    pays: draw() >= 0.08,
    cancels: draw() < 0.02,
    repeatsCart: draw() < 0.2,
    thinkMs: 50 + draw() * 400,
  }
}

function planBot(uid: number, { skus }: CrowdSettings, draw: Draw): BuyerPlan {
  return {
    uid,
    kind: 'bot',
    skuIndex: pick(draw, skus),
    arriveMs: -200 + draw() * 1_200,
    clicks: draw() < 0.3 ? 3 : 1,
    botAsks: 3 + pick(draw, 6),
    botEveryMs: 100 + draw() * 300,
    patienceMs: 8_000,
    leavesToken: draw() < 0.3,
    pays: draw() >= 0.4,
    cancels: draw() < 0.05,
    repeatsCart: draw() < 0.5,
    thinkMs: 0,
  }
}

/** Exponential arrivals after the opening, cut at the end of the rush. */
function arrival(draw: Draw): number {
  return Math.min((-Math.log(1 - draw()) * HALF_ARRIVED_MS) / Math.LN2, ARRIVE_MS_MAX * (0.9 + draw() / 10))
}

function pick(draw: Draw, count: number): number {
  return Math.min(Math.floor(draw() * count), count - 1)
}
