/** What the model sees of a buyer: figures in steps, alone and in pairs, hashed to places of the weight vector. */

import { ABUSE_FEATURE_SCHEMA, ABUSE_MODEL_SIZE } from '@bigtap/domain'
import { mix, NO_PLACE } from '@bigtap/kernel'
import type { Crowd } from './crowd.ts'
import { WINDOW } from './figure-windows.ts'
import { mercyOf } from './mercy.ts'
import { COUNT } from './row-facts.ts'
import type { Subjects } from './subjects.ts'

/** Figures of a buyer; from `addressBadShare` on they are those of its address, subnet and device. */
export const FEATURES = [
  'asks1',
  'asks10',
  'asks60',
  'hasty10',
  'hastyShare',
  'ignoredShare',
  'volleyShare',
  'rateLimitedShare',
  'forged',
  'early',
  'impossible',
  'honeypot',
  'unknown',
  'afterLast',
  'gapMs',
  'spread',
  'addresses',
  'devices',
  'addressBadShare',
  'addressAsksPerUid',
  'subnetBadShare',
  'deviceUids',
  'deviceBadShare',
] as const
/** One of the features. */
export type Feature = (typeof FEATURES)[number]

/** Place of each feature in FEATURES. */
export const FEATURE = Object.fromEntries(FEATURES.map((name, index) => [name, index])) as Readonly<
  Record<Feature, number>
>

/** From this one on features are not the buyer's own. */
const NEIGHBOURS_FROM = FEATURE.addressBadShare

/** Fewer who share an address, a subnet or a device are a household. */
const SHARING_MIN = 6

/** Pairs that say more together than each alone. */
const PAIRS: readonly (readonly [Feature, Feature])[] = [
  ['asks10', 'hastyShare'],
  ['gapMs', 'spread'],
  ['gapMs', 'rateLimitedShare'],
  ['gapMs', 'asks60'],
  ['gapMs', 'afterLast'],
  ['spread', 'asks60'],
  ['spread', 'rateLimitedShare'],
  ['asks10', 'rateLimitedShare'],
  ['asks10', 'volleyShare'],
  ['addresses', 'devices'],
  ['addresses', 'hastyShare'],
  ['addresses', 'gapMs'],
  ['forged', 'unknown'],
  ['addressBadShare', 'hastyShare'],
  ['addressBadShare', 'spread'],
  ['addressBadShare', 'gapMs'],
  ['subnetBadShare', 'gapMs'],
  ['deviceBadShare', 'addresses'],
  ['deviceBadShare', 'spread'],
  ['deviceUids', 'addresses'],
  ['ignoredShare', 'asks60'],
  ['ignoredShare', 'gapMs'],
  ['ignoredShare', 'deviceUids'],
  ['ignoredShare', 'deviceBadShare'],
  ['ignoredShare', 'addressBadShare'],
  ['ignoredShare', 'subnetBadShare'],
]
const PAIR_FEATURES = PAIRS.map(([one, other]) => [FEATURE[one], FEATURE[other]] as const)

/** Terms of a sample: each feature alone, then each pair. */
export const TERMS = FEATURES.length + PAIRS.length
/** Names of the terms, for explanations. */
export const TERM_NAMES: readonly string[] = [...FEATURES, ...PAIRS.map(([one, other]) => `${one} x ${other}`)]
/** Who ignores what it is told shows that by itself; neighbours who do the same tell a machine from a person who reloads. */
const OWN_EVIDENCE = FEATURE.ignoredShare
/** 1 for a term that is about neighbours. */
export const IS_NEIGHBOURS = Uint8Array.from([
  ...FEATURES.map((_, index) => (index >= NEIGHBOURS_FROM ? 1 : 0)),
  ...PAIR_FEATURES.map(([one, other]) => (one !== OWN_EVIDENCE && Math.max(one, other) >= NEIGHBOURS_FROM ? 1 : 0)),
])

/** Reads the figures of the buyer at `place` into `values`, one per feature. */
export function readFeatures(crowd: Crowd, place: number, now: number, values: Float64Array): void {
  const { uid } = crowd
  const { windows, pace } = uid
  const minute = (figure: number) => windows.count(place, figure, WINDOW.minute, now)
  const asks60 = minute(COUNT.asks)
  const perAsk = 1 / Math.max(1, asks60)
  values[FEATURE.asks1] = windows.count(place, COUNT.asks, WINDOW.second, now)
  values[FEATURE.asks10] = windows.count(place, COUNT.asks, WINDOW.tenSeconds, now)
  values[FEATURE.asks60] = asks60
  values[FEATURE.hasty10] = windows.count(place, COUNT.hasty, WINDOW.tenSeconds, now)
  values[FEATURE.hastyShare] = minute(COUNT.hasty) * perAsk
  values[FEATURE.ignoredShare] = minute(COUNT.ignored) * perAsk
  values[FEATURE.volleyShare] = minute(COUNT.volleys) * perAsk
  values[FEATURE.rateLimitedShare] = minute(COUNT.rateLimited) * perAsk
  values[FEATURE.forged] = minute(COUNT.forged)
  values[FEATURE.early] = minute(COUNT.early)
  values[FEATURE.impossible] = minute(COUNT.impossible)
  values[FEATURE.honeypot] = minute(COUNT.honeypot)
  values[FEATURE.unknown] = minute(COUNT.unknown)
  values[FEATURE.afterLast] = minute(COUNT.afterLast)
  values[FEATURE.gapMs] = pace.gapMs(place)
  values[FEATURE.spread] = pace.spread(place)
  values[FEATURE.addresses] = uid.first.estimate(place, now)
  values[FEATURE.devices] = uid.second.estimate(place, now)
  readNeighbours(crowd, place, now, values)
}

function readNeighbours({ uid, ip, subnet, device }: Crowd, place: number, now: number, values: Float64Array): void {
  const address = ip.table.find(uid.address[place] as number)
  const asks = address === NO_PLACE ? 0 : ip.windows.count(address, COUNT.asks, WINDOW.tenSeconds, now)
  values[FEATURE.addressBadShare] = badShareOf(ip, address, now)
  values[FEATURE.addressAsksPerUid] = asks / Math.max(1, uidsOf(ip, address, now))
  values[FEATURE.subnetBadShare] = badShareOf(subnet, subnet.table.find(uid.subnet[place] as number), now)
  const machine = device.table.find(uid.device[place] as number)
  values[FEATURE.deviceUids] = uidsOf(device, machine, now)
  values[FEATURE.deviceBadShare] = badShareOf(device, machine, now)
}

function uidsOf(group: Subjects, place: number, now: number): number {
  return place === NO_PLACE ? 0 : group.first.estimate(place, now)
}

/**
 * Which part of those behind an address, a subnet or a device misbehaves; 0 where good ones speak for it, so that nobody is
 * suspected for a bad neighbour among good ones. A share among few would only repeat the buyer's own.
 */
function badShareOf(group: Subjects, place: number, now: number): number {
  if (place === NO_PLACE || mercyOf(group, place, now) === 'all') return 0
  const uids = group.first.estimate(place, now)
  return uids < SHARING_MIN ? 0 : Math.min(1, group.second.estimate(place, now) / uids)
}

/** Steps of each feature; a figure's step is how many of these it reaches. */
const COUNT_STEPS = [0.5, 1.5, 3, 5, 8, 12, 18, 27, 40, 60, 100, 200, 500, 1_000, 3_000]
const SHARE_STEPS = [0.01, 0.05, 0.12, 0.25, 0.4, 0.6, 0.8]
const GAP_STEPS = [1, 80, 120, 170, 220, 280, 350, 450, 600, 800, 1_100, 1_600, 2_500, 5_000, 10_000]
const SPREAD_STEPS = [-0.5, 0.02, 0.05, 0.09, 0.14, 0.2, 0.3, 0.45, 0.7, 1]
const STEPS = FEATURES.map((name) => {
  if (name === 'gapMs') return GAP_STEPS
  if (name === 'spread') return SPREAD_STEPS
  return name.endsWith('Share') ? SHARE_STEPS : COUNT_STEPS
})

const steps = new Uint8Array(FEATURES.length)

/** Places of the weight vector that the figures of `values` lead to, one per term, into `places`. */
export function placesOf(values: Float64Array, places: Uint16Array): void {
  for (let feature = 0; feature < FEATURES.length; feature++) {
    const step = stepOf(values[feature] as number, STEPS[feature] as readonly number[])
    steps[feature] = step
    places[feature] = placeOf(feature * 32 + step)
  }
  for (let pair = 0; pair < PAIR_FEATURES.length; pair++) {
    const [one, other] = PAIR_FEATURES[pair] as readonly [number, number]
    // Who ignores nothing has no evidence of its own here, whatever its neighbours do: all of them have one place.
    const isNothing = one === OWN_EVIDENCE && steps[one] === 0
    const together = isNothing ? 0 : (steps[one] as number) * 32 + (steps[other] as number)
    places[FEATURES.length + pair] = placeOf((FEATURES.length + pair) * 1_024 + together)
  }
}

function stepOf(value: number, limits: readonly number[]): number {
  let step = 0
  while (step < limits.length && value >= (limits[step] as number)) step++
  return step
}

function placeOf(term: number): number {
  return mix(term ^ Math.imul(ABUSE_FEATURE_SCHEMA, 0x9e3779b1)) & (ABUSE_MODEL_SIZE - 1)
}
