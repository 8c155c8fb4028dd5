/** Draws a crowd of profiles: who shares an address, an account or a device with whom, and at what pace abuse comes. */

import { AddressBook } from './addresses.ts'
import {
  type BuyerPlan,
  botCountOf,
  type CrowdSettings,
  type Draw,
  type Origin,
  pick,
  planPerson,
  uidOf,
} from './buyer-plan.ts'
import { type Device, personalDevice, scriptDevice } from './devices.ts'
import {
  ABUSE_TERMS,
  type AbuseTerms,
  type HonestProfile,
  isHonest,
  meanAsks,
  mixesOf,
  type Profile,
  seatsOf,
} from './profiles.ts'

/** Settings with a profile. */
export type ProfileSettings = CrowdSettings & { readonly profile: Profile | 'mixed' }

/**
 * 2,500 abusive asks a second: what two cores carry beside the people, the platform and the crowd's own work (ADR 0027).
 * More seats make the attack longer, not denser.
 */
export const ABUSIVE_ASKS_PER_SECOND = 2_500
const ABUSE_MS_MIN = 8_000
/** Abuse begins shortly before the opening. */
const ABUSE_EARLY_MS = 500
const HOUSEHOLD_MAX = 4
const HOUSEHOLD_SHARE = 0.25
const PERSON_CONNECTIONS = 2
/** Buyers behind one shared address. */
const SHARED_BY = 4_000
const SHARED_CONNECTIONS = 48
const REFRESH_MS = [600, 1_500] as const
/** Some people press the button or the reload key several times in a row when it does not work at once. */
const HURRY_SHARE = { normal: 0.1, refresher: 0.4, shared: 0.1 } as const
const HURRIES = [2, 4] as const
const HURRY_MS = [120, 350] as const
/** Those who share an account come together, as one who passes it on would want it. */
const SHARERS_WITHIN_MS = 8_000
/** Addresses of a farm: one for three of its accounts, each of which uses three in turn. */
const FARM_PER_ADDRESS = 3
const FARM_TURNS = 3
const FARM_DEVICES = 3

/** Ms from the opening until the last abusive seat arrives. */
export function abuseMsOf(settings: ProfileSettings): number {
  const seats = seatsOf(mixesOf(settings.profile).abusive, botCountOf(settings))
  const asks = [...seats].reduce((sum, [profile, count]) => sum + count * meanAsks(termsOf(profile)), 0)
  return Math.max(ABUSE_MS_MIN, (asks / ABUSIVE_ASKS_PER_SECOND) * 1_000)
}

/** Draws all seats, abusive ones first; unsorted. */
export function planProfiles(settings: ProfileSettings, draw: Draw): BuyerPlan[] {
  const { honest, abusive } = mixesOf(settings.profile)
  const bots = botCountOf(settings)
  const seats = [...seatsOf(abusive, bots), ...seatsOf(honest, settings.buyers - bots)]
  const book = new AddressBook(draw)
  const abuseMs = abuseMsOf(settings)
  let index = 0
  return seats.flatMap(([profile, count]) => {
    const first = index
    index += count
    const origins = originsOf(profile, count, book, draw)
    const arrive = arrivals(profile, abuseMs, draw)
    return Array.from({ length: count }, (_, seat): BuyerPlan => {
      const origin = origins(seat)
      if (isHonest(profile)) {
        const person = planHonest(profile, uidOf(settings.seed, first + seat), origin, settings, draw)
        return { ...person, patienceMs: person.patienceMs + abuseMs }
      }
      const { perGroup } = termsOf(profile)
      const isShared = profile === 'sharer'
      const uid = uidOf(settings.seed, first + (isShared ? seat - (seat % perGroup) : seat))
      return planAbuse({ profile, uid, origin, arriveMs: arrive(seat), isShared }, settings, draw)
    })
  })
}

function planHonest(
  profile: HonestProfile,
  uid: number,
  origin: Origin,
  settings: CrowdSettings,
  draw: Draw,
): BuyerPlan {
  const person = planPerson(uid, settings, draw)
  const refreshMs = profile === 'refresher' ? between(draw, REFRESH_MS) : 0
  const hurries = draw() < HURRY_SHARE[profile] ? whole(draw, HURRIES) : 0
  return { ...person, profile, origin, refreshMs, hurries, hurryMs: between(draw, HURRY_MS) }
}

interface Abuse {
  readonly profile: Profile
  readonly uid: number
  readonly origin: Origin
  readonly arriveMs: number
  /** An account of several seats: nobody of them takes back what another one has bought. */
  readonly isShared: boolean
}

function planAbuse(
  { profile, uid, origin, arriveMs, isShared }: Abuse,
  { skus }: CrowdSettings,
  draw: Draw,
): BuyerPlan {
  const { rounds, everyMs, clicks } = termsOf(profile)
  return {
    uid,
    kind: 'bot',
    profile,
    origin,
    skuIndex: isShared ? uid % skus : pick(draw, skus),
    arriveMs,
    clicks: whole(draw, clicks),
    botAsks: whole(draw, rounds),
    botEveryMs: between(draw, everyMs),
    refreshMs: 0,
    hurries: 0,
    hurryMs: 0,
    patienceMs: 0,
    leavesToken: !isShared && draw() < 0.2,
    pays: isShared || draw() >= 0.3,
    cancels: !isShared && draw() < 0.05,
    repeatsCart: !isShared && draw() < 0.3,
    thinkMs: 0,
  }
}

/** When the seats of an abusive profile come: evenly over the attack; those of one account close together. */
function arrivals(profile: Profile, abuseMs: number, draw: Draw): (seat: number) => number {
  const within = profile === 'sharer' ? SHARERS_WITHIN_MS : 0
  let from = 0
  return (seat) => {
    if (within === 0 || seat % termsOf(profile).perGroup === 0) from = draw() * Math.max(0, abuseMs - within)
    return -ABUSE_EARLY_MS + from + draw() * within
  }
}

/** Where the seats of a profile sit: a function from the seat to its origin. */
function originsOf(profile: Profile, count: number, book: AddressBook, draw: Draw): (seat: number) => Origin {
  switch (profile) {
    case 'normal':
    case 'refresher':
      return homes(book, draw)
    case 'shared':
      return (seat) => ({
        addresses: [book.shared(Math.floor(seat / SHARED_BY))],
        device: personalDevice(draw),
        connections: SHARED_CONNECTIONS,
      })
    case 'farm':
      return farm(count, book, draw)
    case 'sharer':
      return () => ({
        addresses: [book.home()],
        device: personalDevice(draw),
        connections: termsOf(profile).connections,
      })
    default:
      return groups(profile, book, draw)
  }
}

function homes(book: AddressBook, draw: Draw): () => Origin {
  let address = ''
  let left = 0
  return () => {
    if (left > 0 && draw() < HOUSEHOLD_SHARE) left--
    else {
      address = book.home()
      left = HOUSEHOLD_MAX - 1
    }
    return { addresses: [address], device: personalDevice(draw), connections: PERSON_CONNECTIONS }
  }
}

/** Half of a farm's addresses stand in data centres, side by side, half among homes. */
function farm(count: number, book: AddressBook, draw: Draw): () => Origin {
  const networks = Array.from({ length: 1 + Math.floor(count / 1_000) }, () => book.centre())
  const many = Math.max(FARM_TURNS, Math.ceil(count / FARM_PER_ADDRESS))
  const addresses = Array.from({ length: many }, (_, index) =>
    index % 2 === 0 ? book.within(networks[pick(draw, networks.length)] ?? '') : book.home(),
  )
  const devices: Device[] = Array.from({ length: FARM_DEVICES }, () => personalDevice(draw))
  return () => ({
    addresses: Array.from({ length: FARM_TURNS }, () => addresses[pick(draw, many)] ?? ''),
    device: devices[pick(draw, FARM_DEVICES)] ?? personalDevice(draw),
    connections: termsOf('farm').connections,
  })
}

/** So many seats in a row on each machine: one address, one device. */
function groups(profile: Profile, book: AddressBook, draw: Draw): (seat: number) => Origin {
  const { perGroup, connections } = termsOf(profile)
  let origin: Origin | undefined
  return (seat) => {
    if (origin === undefined || seat % perGroup === 0) {
      origin = { addresses: [book.within(book.centre())], device: scriptDevice(draw), connections }
    }
    return origin
  }
}

function termsOf(profile: Profile): AbuseTerms {
  const terms: Partial<Record<Profile, AbuseTerms>> = ABUSE_TERMS
  return terms[profile] ?? ABUSE_TERMS.script
}

function between(draw: Draw, [min, max]: readonly [number, number]): number {
  return min + draw() * (max - min)
}

function whole(draw: Draw, [min, max]: readonly [number, number]): number {
  return min + pick(draw, max - min + 1)
}
