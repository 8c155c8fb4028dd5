/** What one buyer of a crowd is going to do, and how a person is drawn. Pure. */

import type { Device } from './devices.ts'
import type { Profile } from './profiles.ts'

/** What the crowd is drawn from. `bots` is the share of `buyers` that is scripted, 0..1. */
export interface CrowdSettings {
  readonly buyers: number
  readonly bots: number
  readonly skus: number
  readonly seed: number
  /** Without one all come from one address without a device: people and simple scripts. */
  readonly profile?: Profile | 'mixed' | undefined
}

/** Where a buyer's requests come from. */
export interface Origin {
  /** One, or several that take turns. */
  readonly addresses: readonly string[]
  readonly device: Device
  /** Connections that one of the addresses keeps open to a limiter at most, all of its buyers together. */
  readonly connections: number
}

/** How a buyer behaves. Times are in ms; `arriveMs` counts from the opening and may be before it. */
export interface BuyerPlan {
  readonly uid: number
  readonly kind: 'normal' | 'bot'
  readonly profile: Profile
  /** Undefined: the machine's own address, and no device. */
  readonly origin: Origin | undefined
  readonly skuIndex: number
  readonly arriveMs: number
  /** Buy requests sent at the same instant by one click: repeated clicks, or a script that fires in parallel. */
  readonly clicks: number
  /** How often a script asks again, whatever the answer; a person follows `retryAfterMs` instead. */
  readonly botAsks: number
  readonly botEveryMs: number
  /** A person who refreshes asks again after so long at most, whatever the answer says; 0: does as told. */
  readonly refreshMs: number
  /** How often an impatient person clicks again at first without waiting as told, and after how long. */
  readonly hurries: number
  readonly hurryMs: number
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

/** The uid of a seat; crowds of different seeds have none in common. */
export function uidOf(seed: number, index: number): number {
  return FIRST_UID + seed * 0x100_0000 + index
}

/** How many of the crowd are bots. */
export function botCountOf({ buyers, bots }: CrowdSettings): number {
  return Math.round(buyers * bots)
}

/** A person: a few are early, most come in the first seconds, and nearly all pay. */
export function planPerson(uid: number, { skus }: CrowdSettings, draw: Draw): BuyerPlan {
  const isEarly = draw() < EARLY_SHARE
  return {
    uid,
    kind: 'normal',
    profile: 'normal',
    origin: undefined,
    skuIndex: pick(draw, skus),
    arriveMs: isEarly ? -draw() * EARLY_MS_MAX : arrival(draw),
    clicks: draw() < 0.2 ? 2 : 1,
    botAsks: 0,
    botEveryMs: 0,
    refreshMs: 0,
    hurries: 0,
    hurryMs: 0,
    patienceMs: PATIENCE_MS,
    leavesToken: draw() < 0.04,
    pays: draw() >= 0.08,
    cancels: draw() < 0.02,
    repeatsCart: draw() < 0.2,
    thinkMs: 50 + draw() * 400,
  }
}

/** Exponential arrivals after the opening, cut at the end of the rush. */
function arrival(draw: Draw): number {
  return Math.min((-Math.log(1 - draw()) * HALF_ARRIVED_MS) / Math.LN2, ARRIVE_MS_MAX * (0.9 + draw() / 10))
}

/** A whole number below `count`. */
export function pick(draw: Draw, count: number): number {
  return Math.min(Math.floor(draw() * count), count - 1)
}
