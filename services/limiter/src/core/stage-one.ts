/** Abuse that one process can see by itself: how often, how odd, how fast. Effective with the request that shows it. */

import type { Tier } from '@bigtap/domain'
import { hashUid, mix, RateSketch } from '@bigtap/kernel'
import { ACCESS_FLAG, ACCESS_OUTCOME, type AccessOutcome } from '@bigtap/protocol'
import type { Requester } from './requester.ts'

/** From so many in the window on, at least this tier. */
export type Step = readonly [countMin: number, tier: Tier]

/** What counts as abuse here. Every list goes from mild to grave. */
export interface StageOneRules {
  /** Asks per second. An address or a subnet alone never makes a buyer worse than tier 2: thousands may share it. */
  readonly uid: readonly Step[]
  readonly device: readonly Step[]
  readonly address: readonly Step[]
  readonly subnet: readonly Step[]
  /** Strikes within 10 s, of a buyer and of an address. */
  readonly uidStrikes: readonly Step[]
  readonly addressStrikes: readonly Step[]
  /** Asked again sooner than this after being told to wait: no person does, nor does our page. */
  readonly againMsMin: number
}

/**
 * The rules. Our page asks twice a second at most, a person who holds the reload key about ten times: such a one falls
 * behind those who wait, and stays before scripts. A strike or two happens to anybody (keys change, activities move), many
 * to nobody.
 */
export const STAGE_ONE_RULES: StageOneRules = {
  uid: [
    [5, 1],
    [8, 2],
    [13, 3],
    [25, 4],
  ],
  device: [
    [30, 1],
    [60, 2],
    [120, 3],
  ],
  address: [
    [200, 1],
    [1_000, 2],
  ],
  subnet: [
    [2_000, 1],
    [10_000, 2],
  ],
  uidStrikes: [
    [4, 2],
    [7, 3],
    [13, 4],
    [26, 5],
  ],
  addressStrikes: [
    [20, 1],
    [80, 2],
  ],
  againMsMin: 40,
}

/** Strikes of each oddity. An expired ticket is none: a buyer who hesitates has one. */
const STRIKES: readonly (readonly [flag: number, count: number])[] = [
  [ACCESS_FLAG.badSignature, 2],
  [ACCESS_FLAG.foreignTicket, 3],
  [ACCESS_FLAG.early, 1],
  [ACCESS_FLAG.impossibleTiming, 1],
  [ACCESS_FLAG.honeypot, 6],
  [ACCESS_FLAG.badChallenge, 2],
]

const SECOND_MS = 1_000
/** A strike is remembered for so long. */
export const STRIKE_MS = 10_000

/** Cells per row: with 50,000 asks in a second less than one per cell. */
const UID_WIDTH = 65_536
const ADDRESS_WIDTH = 32_768
const STRIKE_WIDTH = 16_384
/** Buyers who were told to wait; a newer one in the same place puts the older one out. */
const TOLD_PLACES = 65_536

/** Does this answer say: come back later? */
export function isToldToWait(outcome: AccessOutcome): boolean {
  return outcome === ACCESS_OUTCOME.queued || outcome === ACCESS_OUTCOME.shed || outcome === ACCESS_OUTCOME.unavailable
}

/** Bytes of all sketches and tables, whatever keys come: 4.6 MiB. */
export const STAGE_ONE_BYTES = 16 * (2 * UID_WIDTH + 2 * ADDRESS_WIDTH + 2 * STRIKE_WIDTH) + 17 * TOLD_PLACES

/** The rules of one limiter process. An ask takes about 0.5 us and 0 bytes: stage-one.test.ts. */
export class StageOne {
  /** Requests that were graded worse than 0, by tier. */
  readonly graded = new Float64Array(6)
  readonly #rules: StageOneRules
  readonly #uids: RateSketch
  readonly #devices: RateSketch
  readonly #addresses: RateSketch
  readonly #subnets: RateSketch
  readonly #uidStrikes: RateSketch
  readonly #addressStrikes: RateSketch
  readonly #told = new WaitTold(TOLD_PLACES)

  /** `seed` is this process's secret, 32 bits. */
  constructor({ seed, rules = STAGE_ONE_RULES }: { seed: number; rules?: StageOneRules }) {
    this.#rules = rules
    const sketch = (width: number, windowMs: number, salt: number) =>
      new RateSketch({ width, windowMs, seed: mix(seed + salt) })
    this.#uids = sketch(UID_WIDTH, SECOND_MS, 1)
    this.#devices = sketch(UID_WIDTH, SECOND_MS, 2)
    this.#addresses = sketch(ADDRESS_WIDTH, SECOND_MS, 3)
    this.#subnets = sketch(ADDRESS_WIDTH, SECOND_MS, 4)
    this.#uidStrikes = sketch(STRIKE_WIDTH, STRIKE_MS, 5)
    this.#addressStrikes = sketch(STRIKE_WIDTH, STRIKE_MS, 6)
  }

  /** Bytes of all that is counted; never more. */
  get bytes(): number {
    const sketches = [this.#uids, this.#devices, this.#addresses, this.#subnets, this.#uidStrikes, this.#addressStrikes]
    return sketches.reduce((sum, { bytes }) => sum + bytes, this.#told.bytes)
  }

  /** Counts an ask and grades it. `now` in ms since the epoch. */
  tierOf(who: Requester, now: number): Tier {
    const { uid, addressHash, subnetHash, deviceHash, device } = who
    const rules = this.#rules
    let tier = worst(rules.address, this.#addresses.add(addressHash, now))
    tier = Math.max(tier, worst(rules.subnet, this.#subnets.add(subnetHash, now)))
    tier = Math.max(tier, worst(rules.addressStrikes, this.#addressStrikes.count(addressHash, now)))
    if (device !== 0) tier = Math.max(tier, worst(rules.device, this.#devices.add(deviceHash, now)))
    if (uid !== 0) tier = Math.max(tier, this.#tierOfBuyer(who, now))
    this.graded[tier] = (this.graded[tier] as number) + 1
    return tier as Tier
  }

  /** Something odd was seen, bits of ACCESS_FLAG; it is noted in the request too. */
  strike(who: Requester, flags: number, now: number): void {
    who.flags |= flags
    let count = 0
    for (const [flag, strikes] of STRIKES) if ((flags & flag) !== 0) count += strikes
    if (count === 0) return
    if (who.uid !== 0) this.#uidStrikes.add(hashUid(who.uid) | 0, now, count)
    if (who.address !== '') this.#addressStrikes.add(who.addressHash, now, count)
  }

  /** A buyer was told to come back later. */
  toldToWait(uid: number, now: number): void {
    if (uid !== 0) this.#told.set(uid, now, now + this.#rules.againMsMin)
  }

  #tierOfBuyer(who: Requester, now: number): number {
    const { uid } = who
    if (this.#told.isTooSoon(uid, now)) this.strike(who, ACCESS_FLAG.impossibleTiming, now)
    const atUid = hashUid(uid) | 0
    const asks = worst(this.#rules.uid, this.#uids.add(atUid, now))
    return Math.max(asks, worst(this.#rules.uidStrikes, this.#uidStrikes.count(atUid, now)))
  }
}

function worst(steps: readonly Step[], count: number): number {
  let tier = 0
  for (const [countMin, at] of steps) if (count >= countMin) tier = at
  return tier
}

/** Answers so close together belong to one click, or to one machine, ms. */
const SAME_CLICK_MS = 300
/** The second half of a double click may come after the first one was answered; the third request of a click is no person's. */
const SOON_MIN = 2

/** Until when each of the last buyers who were told to wait cannot be back; one place for a hash, no more than that. */
class WaitTold {
  readonly #uids: Float64Array
  readonly #until: Float64Array
  readonly #soon: Uint8Array
  readonly #mask: number

  constructor(places: number) {
    this.#uids = new Float64Array(places)
    this.#until = new Float64Array(places)
    this.#soon = new Uint8Array(places)
    this.#mask = places - 1
  }

  get bytes(): number {
    return this.#uids.byteLength + this.#until.byteLength + this.#soon.byteLength
  }

  set(uid: number, now: number, until: number): void {
    const place = hashUid(uid) & this.#mask
    const isSameClick = this.#uids[place] === uid && now - (this.#until[place] as number) < SAME_CLICK_MS
    if (!isSameClick) this.#soon[place] = 0
    this.#uids[place] = uid
    this.#until[place] = until
  }

  /** Once per answer: who comes too soon is counted for it one time. */
  isTooSoon(uid: number, now: number): boolean {
    const place = hashUid(uid) & this.#mask
    if (this.#uids[place] !== uid || now >= (this.#until[place] as number)) return false
    this.#until[place] = now
    this.#soon[place] = Math.min(0xff, (this.#soon[place] as number) + 1)
    return (this.#soon[place] as number) >= SOON_MIN
  }
}
