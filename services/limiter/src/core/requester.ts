/** Who stands behind the request in hand, and what became of it in the words of the request log. */

import { subnetOf } from '@bigtap/domain'
import { hashText, hashUid } from '@bigtap/kernel'
import { ACCESS_OUTCOME, type AccessOutcome, toldFlags } from '@bigtap/protocol'
import type { Outcome, Reply } from './reply.ts'

/** Longest device name that is looked at; what is longer is none. */
const DEVICE_CHARS_MAX = 128
const LOW_21_BITS = 0x1f_ffff
const OTHER_SEED = '\u0000device'

/**
 * One request as grading, limits and the log see it. One mutable object serves all requests, because each is handled at
 * once; who must wait is copied (see `copy`).
 */
export class Requester {
  /** 0 while nobody has shown a session. */
  uid = 0
  activityId = 0
  skuId = 0
  address = ''
  /** The /24 or /64 of the address. */
  subnet = ''
  /** Hashes of both, 32 bits with a sign: made once for the requests of one connection. */
  addressHash = 0
  subnetHash = 0
  /** 53 bits of the device that the client names, 0 for none. A client can name what it likes: it only ever adds suspicion. */
  device = 0
  deviceHash = 0
  /** What was odd, bits of ACCESS_FLAG. */
  flags = 0
  /** 0 best … 5 worst, once it was graded. */
  tier = 0

  /** Begins with a new request. */
  begin(address: string, device: string): this {
    this.uid = 0
    this.activityId = 0
    this.skuId = 0
    this.flags = 0
    this.tier = 0
    this.device = deviceOf(device)
    this.deviceHash = hashUid(this.device) | 0
    if (address !== this.address) {
      this.address = address
      this.subnet = subnetOf(address)
      this.addressHash = hashText(address) | 0
      this.subnetHash = hashText(this.subnet) | 0
    }
    return this
  }

  /** Takes over what another says. */
  copy(other: Requester): this {
    this.uid = other.uid
    this.activityId = other.activityId
    this.skuId = other.skuId
    this.address = other.address
    this.subnet = other.subnet
    this.addressHash = other.addressHash
    this.subnetHash = other.subnetHash
    this.device = other.device
    this.deviceHash = other.deviceHash
    this.flags = other.flags
    this.tier = other.tier
    return this
  }
}

/** 53 bits of a device's name; 0 for none. */
export function deviceOf(name: string): number {
  if (name === '' || name.length > DEVICE_CHARS_MAX) return 0
  return (hashText(OTHER_SEED + name) & LOW_21_BITS) * 2 ** 32 + hashText(name) || 1
}

const OUTCOMES: Readonly<Record<Outcome, AccessOutcome>> = {
  ok: ACCESS_OUTCOME.ok,
  granted: ACCESS_OUTCOME.granted,
  queued: ACCESS_OUTCOME.queued,
  bad_request: ACCESS_OUTCOME.badRequest,
  bad_ticket: ACCESS_OUTCOME.badTicket,
  no_session: ACCESS_OUTCOME.noSession,
  bad_signature: ACCESS_OUTCOME.badRequest,
  not_reserved: ACCESS_OUTCOME.refused,
  blocked: ACCESS_OUTCOME.blocked,
  forbidden: ACCESS_OUTCOME.refused,
  not_found: ACCESS_OUTCOME.notFound,
  method_not_allowed: ACCESS_OUTCOME.badRequest,
  request_timeout: ACCESS_OUTCOME.badRequest,
  already_bought: ACCESS_OUTCOME.refused,
  rule_refused: ACCESS_OUTCOME.refused,
  reservation_closed: ACCESS_OUTCOME.refused,
  not_payable: ACCESS_OUTCOME.refused,
  wrong_state: ACCESS_OUTCOME.refused,
  sold_out: ACCESS_OUTCOME.soldOut,
  body_too_large: ACCESS_OUTCOME.badRequest,
  unsupported_media_type: ACCESS_OUTCOME.badRequest,
  bad_token: ACCESS_OUTCOME.refused,
  token_expired: ACCESS_OUTCOME.refused,
  gate_failed: ACCESS_OUTCOME.refused,
  not_started: ACCESS_OUTCOME.notStarted,
  challenge_required: ACCESS_OUTCOME.challenged,
  rate_limited: ACCESS_OUTCOME.rateLimited,
  internal: ACCESS_OUTCOME.unavailable,
  overloaded: ACCESS_OUTCOME.shed,
  unavailable: ACCESS_OUTCOME.unavailable,
  paused: ACCESS_OUTCOME.unavailable,
}

/** What became of a request, for the log. */
export function outcomeOf(reply: Reply): AccessOutcome {
  return OUTCOMES[reply.outcome]
}

/** Flags of a row of the log: what was odd about the request, and how long the reply told to stay away. */
export function flagsOf(who: Requester, reply: Reply): number {
  return who.flags | toldFlags(reply.toldMs)
}
