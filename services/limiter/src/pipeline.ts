/**
 * A buy, stage by stage, ordered by cost: what is decided first is cheapest and refuses most.
 *
 *   gate → session → grade ─► blocked, shed? → ticket → held back? → access limits → reservation → queue by rank → merge → Middle
 *
 * The grade comes before the ticket, because who is to be shed should cost no signature. What becomes of a request goes
 * to the log.
 */

import { type ActivityDoc, BLOCKED_TIER, COHORT_COUNT } from '@bigtap/domain'
import type { Clock, Random } from '@bigtap/kernel'
import { ACCESS_CALL, ACCESS_FLAG, type AccessCall } from '@bigtap/protocol'
import { type KeyRing, readTicketScope } from '@bigtap/token'
import type { Access, AccessLimits } from './core/access-limits.ts'
import { clientAddress, plainAddress } from './core/address.ts'
import { type AskTable, CROWDED, FULL, JOINED, type Waiting } from './core/ask-table.ts'
import { type CohortKey, cohortOf } from './core/cohort.ts'
import { type Gate, gateReply, type SkuView } from './core/gate.ts'
import type { Grader } from './core/grade.ts'
import type { HeldBack } from './core/held-back.ts'
import type { AccessLog } from './core/ports.ts'
import { BLOCKED, OVERLOADED_CLOSING, problem, retryReply, retryReplyIn } from './core/replies.ts'
import type { Reply } from './core/reply.ts'
import { flagsOf, outcomeOf, Requester } from './core/requester.ts'
import type { Sessions } from './core/session.ts'
import { sessionText } from './core/session.ts'
import type { Shedding } from './core/shedding.ts'
import type { Tickets, TicketVerdict } from './core/tickets.ts'
import type { Exchange } from './edge/edge.ts'
import type { HeldRequests } from './held-requests.ts'

/** Who has a seat in an activity; unknown while the set is not loaded. */
export interface Seats {
  hasSeat(activityId: number, uid: number): boolean | undefined
}

/** Sends an ask to the owner of the buyer; false when there is no way to it now. */
export interface Asker {
  ask(askId: number, uid: number, activityId: number, skuId: number): boolean
}

/** Collaborators of the pipeline. */
export interface PipelineParts {
  readonly clock: Clock
  readonly random: Random
  readonly ring: KeyRing
  readonly gate: Gate
  readonly sessions: Sessions
  readonly tickets: Tickets
  readonly limits: AccessLimits
  readonly heldBack: HeldBack
  readonly seats: Seats
  readonly asks: AskTable
  readonly asker: Asker
  readonly grader: Grader
  readonly held: HeldRequests
  readonly shedding: Shedding
  readonly cohortKey: CohortKey
  readonly log: AccessLog
  isTrusted(address: string): boolean
  count(reply: Reply): void
}

/** The pipeline of buys. */
export class Pipeline {
  readonly #parts: PipelineParts
  readonly #draw: () => number
  readonly #who = new Requester()
  readonly #access = new RequestAccess()

  constructor(parts: PipelineParts) {
    this.#parts = parts
    this.#draw = () => parts.random.next()
  }

  /** The reply, or undefined when the request is held until Middle's verdict or the deadline. */
  onBuy(exchange: Exchange, ticket: string): Reply | undefined {
    const now = this.#parts.clock.now()
    const who = this.begin(exchange)
    const reply = this.#replyOf(exchange, who, ticket, now)
    if (reply !== undefined) this.log(who, ACCESS_CALL.buy, reply)
    return reply
  }

  /** Who makes the request: valid until the next one begins. The session is not looked at yet. */
  begin(exchange: Exchange): Requester {
    const { isTrusted } = this.#parts
    const direct = plainAddress(exchange.remoteAddress())
    // The header is read only from whom it is believed.
    const address = isTrusted(direct) ? clientAddress(direct, exchange.header('x-forwarded-for'), isTrusted) : direct
    return this.#who.begin(address, exchange.header('x-device'))
  }

  /** Says in the log what became of a request. */
  log(who: Requester, call: AccessCall, reply: Reply): void {
    this.#parts.log.note(who, call, outcomeOf(reply), flagsOf(who, reply), who.tier)
  }

  /** The buyer of a request, or 0. */
  uidOf(exchange: Exchange, now: number): number {
    const authorization = exchange.header('authorization')
    const cookie = authorization === '' ? exchange.header('cookie') : ''
    return this.#parts.sessions.uidOf(sessionText(authorization, cookie), now)
  }

  /** Who would be shed as an ask gets no path either; undefined for everybody else. For graded requests. */
  keptBackReply(who: Requester): Reply | undefined {
    const { clock, shedding } = this.#parts
    return shedding.wouldShed(who.uid, this.#levelOf(who), clock.monotonic()) ? this.#shedReply(who.tier) : undefined
  }

  reservationReply({ id, reservation }: ActivityDoc, uid: number): Reply | undefined {
    if (!reservation.required) return undefined
    const hasSeat = this.#parts.seats.hasSeat(id, uid)
    if (hasSeat === undefined) return retryReply('unavailable', this.#draw())
    return hasSeat ? undefined : problem('not_reserved')
  }

  #replyOf(exchange: Exchange, who: Requester, ticket: string, now: number): Reply | undefined {
    const { clock, gate, grader, shedding } = this.#parts
    const scope = readTicketScope(ticket)
    if (scope === undefined) {
      who.uid = this.uidOf(exchange, now)
      grader.strike(who, ACCESS_FLAG.badSignature, now)
      return problem('bad_ticket')
    }
    who.activityId = scope.activityId
    who.skuId = scope.skuId
    const view = gate.view(scope.activityId, scope.skuId)
    if (view !== undefined) gate.counts.asks[view.row] = (gate.counts.asks[view.row] as number) + 1
    const shut = gateReply(view, now, this.#draw, problem('bad_ticket'))
    if (shut !== undefined || view === undefined) {
      // Nobody can have a ticket before the opening: it is forged, or of an activity that was moved.
      if (shut === view?.notStarted) grader.strike(who, ACCESS_FLAG.early, now)
      return shut
    }
    who.uid = this.uidOf(exchange, now)
    if (who.uid === 0) return problem('no_session')
    grader.grade(who, now)
    if (grader.isBlocked(who, now)) return BLOCKED
    const level = this.#levelOf(who)
    if (shedding.isShed(who.uid, level, clock.monotonic())) return this.#shed(who)
    const refusal = this.#ticketReply(ticket, who, now, view) ?? this.#accessReply(who, now, view)
    return refusal ?? this.#ask(exchange, who, view, level)
  }

  /** Those held back, access limits, then reservation. */
  #accessReply(who: Requester, now: number, { activity }: SkuView): Reply | undefined {
    const { heldBack, limits } = this.#parts
    const heldMs = heldBack.take(who, activity, now)
    const waitMs = heldMs > 0 ? heldMs : limits.take(activity, this.#access.of(who), now)
    if (waitMs > 0) return retryReplyIn('rate_limited', waitMs, this.#draw())
    return this.reservationReply(activity, who.uid)
  }

  #ticketReply(ticket: string, who: Requester, now: number, view: SkuView): Reply | undefined {
    const outcome = this.#parts.tickets.verify(ticket, who.uid, now, view.activity.opensAt)
    if (outcome === 'ok') return undefined
    this.#parts.grader.strike(who, TICKET_FLAGS[outcome], now)
    return outcome === 'early' ? view.notStarted : problem('bad_ticket')
  }

  /** An ask that is under way already is joined: one buyer has one ask per product in flight. */
  #ask(exchange: Exchange, who: Requester, view: SkuView, level: number): Reply | undefined {
    const { asks, asker, held, shedding } = this.#parts
    const { activity, sku } = view
    const { uid } = who
    const waiting = held.hold(exchange.hold(), who, ACCESS_CALL.buy)
    let askId = this.#open(uid, view, waiting)
    if (askId === FULL && shedding.makeRoom(uid, level)) askId = this.#open(uid, view, waiting)
    if (askId === JOINED) return undefined
    if (askId === FULL) return void waiting.reply(this.#shed(who))
    if (askId === CROWDED) return void waiting.reply(retryReply('rate_limited', this.#draw()))
    shedding.grade(askId, level)
    if (!asker.ask(askId, uid, activity.id, sku.id)) asks.settle(askId, retryReply('unavailable', this.#draw()))
    return undefined
  }

  #open(uid: number, { activity, sku }: SkuView, waiting: Waiting): number {
    const { asks, clock } = this.#parts
    return asks.open(uid, activity.id, sku.id, clock.monotonic(), waiting)
  }

  #shed({ tier, activityId, skuId }: Requester): Reply {
    this.#parts.gate.countShed(activityId, skuId)
    return this.#shedReply(tier)
  }

  #levelOf({ tier, activityId, uid }: Requester): number {
    return tier * COHORT_COUNT + cohortOf(this.#parts.cohortKey, activityId, uid)
  }

  /** The worst lose their connection too: the next attempt costs them a new one. */
  #shedReply(tier: number): Reply {
    return tier >= BLOCKED_TIER ? OVERLOADED_CLOSING : retryReply('overloaded', this.#draw())
  }
}

/** What a ticket that is refused says of whoever shows it. */
const TICKET_FLAGS: Readonly<Record<Exclude<TicketVerdict, 'ok'>, number>> = {
  malformed: ACCESS_FLAG.badSignature,
  'bad-signature': ACCESS_FLAG.badSignature,
  expired: ACCESS_FLAG.expiredTicket,
  early: ACCESS_FLAG.early,
  foreign: ACCESS_FLAG.foreignTicket,
  implausible: ACCESS_FLAG.badSignature,
  void: ACCESS_FLAG.expiredTicket,
}

/** The request that is being limited; one object for all, because limits are taken at once. */
class RequestAccess implements Access {
  uid = 0
  skuId = 0
  #address = ''

  of({ uid, skuId, address }: Requester): this {
    this.uid = uid
    this.skuId = skuId
    this.#address = address
    return this
  }

  address(): string {
    return this.#address
  }
}
