/** Counts rows of the request log for those whom they are about. */

import { subnetOf } from '@bigtap/domain'
import { NO_PLACE } from '@bigtap/kernel'
import type { AccessColumns } from '@bigtap/protocol'
import { ACCESS_CALL, toldMsOf } from '@bigtap/protocol'
import { addressKey, subnetKey } from './address.ts'
import type { Crowd } from './crowd.ts'
import { WINDOW } from './figure-windows.ts'
import { PACE, type PaceRow } from './pace.ts'
import { COUNT, factsOf, isLastWord } from './row-facts.ts'
import type { Subjects } from './subjects.ts'

/** Clocks of two nodes are apart by less; a row from further ahead would end everybody's windows. */
const AHEAD_MS_MAX = 5_000
/** Older rows are in no window. */
const BEHIND_MS_MAX = 60_000
/** So many misdeeds, and told times that were ignored, within a minute make a buyer one who misbehaves, for those who share an address with it. */
const MISDEEDS_OF_BAD = 4
const BAD_FOR_MS = 30_000
const MISDEEDS = (1 << COUNT.hasty) | (1 << COUNT.volleys) | (1 << COUNT.forged) | (1 << COUNT.honeypot)

/** Rows in, counts out; no object is made per row. */
export class Observer {
  rows = 0
  outOfTime = 0
  readonly #crowd: Crowd
  readonly #seed: number
  /** Keys of the batch's addresses, each read once. */
  #addressKeys = new Float64Array(64)
  #subnetKeys = new Float64Array(64)
  /** One row, filled again for each. */
  readonly #pace: { -readonly [Field in keyof PaceRow]: PaceRow[Field] }

  constructor(crowd: Crowd, seed: number) {
    this.#crowd = crowd
    this.#seed = seed
    this.#pace = { place: 0, lane: 0, at: 0, skuId: 0, toldMs: 0, isLast: false }
  }

  /** Counts a batch. `now` is the time of the last tick, 0 before the first. */
  observe(batch: AccessColumns, now: number): void {
    this.#readAddresses(batch.addresses)
    for (let row = 0; row < batch.rows; row++) {
      const at = batch.at + (batch.afterMs[row] as number)
      const isInTime = now === 0 || (at < now + AHEAD_MS_MAX && at > now - BEHIND_MS_MAX)
      if (isInTime && at > 0) this.#row(batch, row)
      else this.outOfTime++
    }
    this.rows += batch.rows
  }

  /** A buyer was graded badly at `at`: it counts as one who misbehaves, for a while, where it was seen last. */
  markBad(buyer: number, at: number): void {
    const { uid, ip, subnet, device } = this.#crowd
    uid.badUntil[buyer] = at + BAD_FOR_MS
    const hash = uid.table.hash(uid.table.keys[buyer] as number)
    addBad(ip, uid.address[buyer] as number, hash, at)
    addBad(subnet, uid.subnet[buyer] as number, hash, at)
    addBad(device, uid.device[buyer] as number, hash, at)
  }

  #row(batch: AccessColumns, row: number): void {
    const at = batch.at + (batch.afterMs[row] as number)
    const { uid, ip, subnet, device } = this.#crowd
    const uidKey = batch.uid[row] as number
    const buyer = uidKey > 0 ? uid.open(uidKey, at) : NO_PLACE
    const facts = this.#factsOf(batch, row, at, buyer)
    const address = batch.address[row] as number
    const addressNumber = this.#addressKeys[address] as number
    const subnetNumber = this.#subnetKeys[address] as number
    const deviceNumber = batch.device[row] as number
    if (buyer !== NO_PLACE) this.#seenWith(buyer, addressNumber, subnetNumber, deviceNumber, at)
    const isBad = buyer !== NO_PLACE && this.#isBad(buyer, facts, at)
    const hash = uidKey > 0 ? uid.table.hash(uidKey) : 0
    if (address < batch.addresses.length) {
      const place = countFor(ip, addressNumber, at, facts, hash, isBad)
      if (place !== NO_PLACE && ip.table.isFresh) ip.names[place] = batch.addresses[address] ?? ''
      const net = countFor(subnet, subnetNumber, at, facts, hash, isBad)
      if (net !== NO_PLACE && subnet.table.isFresh) subnet.names[net] = subnetOf(batch.addresses[address] ?? '')
    }
    if (deviceNumber > 0) countFor(device, deviceNumber, at, facts, hash, isBad)
  }

  /** What the row says, and what its time says of the buyer's pace; counted for the buyer. */
  #factsOf(batch: AccessColumns, row: number, at: number, buyer: number): number {
    const [call, outcome, flags] = [batch.call[row] as number, batch.outcome[row] as number, batch.flags[row] as number]
    let facts = factsOf(outcome, flags)
    if (buyer !== NO_PLACE) {
      if (call === ACCESS_CALL.buy || call === ACCESS_CALL.path) {
        const pace = this.#pace
        pace.place = buyer
        pace.lane = call === ACCESS_CALL.buy ? 0 : 1
        pace.at = at
        pace.skuId = batch.skuId[row] as number
        pace.toldMs = toldMsOf(flags)
        pace.isLast = isLastWord(outcome)
        const seen = this.#crowd.uid.pace.note(pace)
        if ((seen & PACE.hasty) !== 0) facts |= 1 << COUNT.hasty
        if ((seen & PACE.ignored) !== 0) facts |= 1 << COUNT.ignored
        if ((seen & PACE.volley) !== 0) facts |= 1 << COUNT.volleys
        if ((seen & PACE.afterLast) !== 0) facts |= 1 << COUNT.afterLast
      }
    }
    if ((facts & MISDEEDS) !== 0) facts |= 1 << COUNT.misdeeds
    if (buyer !== NO_PLACE) addFacts(this.#crowd.uid, facts)
    return facts
  }

  #seenWith(buyer: number, address: number, subnet: number, device: number, at: number): void {
    const { uid, ip } = this.#crowd
    uid.address[buyer] = address
    uid.subnet[buyer] = subnet
    uid.device[buyer] = device
    uid.first.add(buyer, ip.table.hash(address), at)
    if (device > 0) uid.second.add(buyer, ip.table.hash(device), at)
  }

  #isBad(buyer: number, facts: number, at: number): boolean {
    const { uid } = this.#crowd
    if ((facts & (MISDEEDS | (1 << COUNT.ignored))) !== 0) {
      const misdeeds = uid.windows.count(buyer, COUNT.misdeeds, WINDOW.minute, at)
      const ignored = uid.windows.count(buyer, COUNT.ignored, WINDOW.minute, at)
      if (misdeeds + ignored >= MISDEEDS_OF_BAD) uid.badUntil[buyer] = at + BAD_FOR_MS
    }
    return at < (uid.badUntil[buyer] as number)
  }

  #readAddresses(addresses: readonly string[]): void {
    if (addresses.length > this.#addressKeys.length) {
      this.#addressKeys = new Float64Array(addresses.length * 2)
      this.#subnetKeys = new Float64Array(addresses.length * 2)
    }
    for (let index = 0; index < addresses.length; index++) {
      const address = addresses[index] as string
      this.#addressKeys[index] = addressKey(address, this.#seed)
      this.#subnetKeys[index] = subnetKey(address, this.#seed)
    }
  }
}

/** Counts a row for an address, a subnet or a device. Without a buyer (`hash` 0) nobody is added to its sketches. */
function countFor(group: Subjects, key: number, at: number, facts: number, hash: number, isBad: boolean): number {
  const place = group.open(key, at)
  if (place === NO_PLACE) return place
  addFacts(group, facts)
  if (hash !== 0) group.first.add(place, hash, at)
  if (hash !== 0 && isBad) group.second.add(place, hash, at)
  return place
}

function addBad(group: Subjects, key: number, hash: number, at: number): void {
  const place = group.table.find(key)
  if (place === NO_PLACE) return
  group.first.add(place, hash, at)
  group.second.add(place, hash, at)
}

function addFacts({ windows }: Subjects, facts: number): void {
  for (let left = facts; left !== 0; left &= left - 1) windows.add(31 - Math.clz32(left & -left))
}
