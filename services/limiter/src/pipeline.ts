/**
 * A buy, stage by stage, ordered by cost: what is decided first is cheapest and refuses most.
 *
 *   gate → session → ticket → [verdicts] → access limits → reservation → [grade] → bounded queue → merge → Middle
 *
 * Verdicts and grade come with a later version; their places are marked.
 */

import type { ActivityDoc } from '@bigtap/domain'
import type { Clock, Random } from '@bigtap/kernel'
import { type KeyRing, readTicketScope } from '@bigtap/token'
import type { Access, AccessLimits } from './core/access-limits.ts'
import { clientAddress, plainAddress } from './core/address.ts'
import { type AskTable, CROWDED, FULL, JOINED } from './core/ask-table.ts'
import { type Gate, gateReply, type SkuView } from './core/gate.ts'
import { problem, retryReply, retryReplyIn } from './core/replies.ts'
import type { Reply } from './core/reply.ts'
import type { Sessions } from './core/session.ts'
import { sessionText } from './core/session.ts'
import type { Tickets } from './core/tickets.ts'
import type { Exchange, Held } from './edge/edge.ts'

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
  readonly seats: Seats
  readonly asks: AskTable
  readonly asker: Asker
  isTrusted(address: string): boolean
  count(reply: Reply): void
}

/** The pipeline of buys. */
export class Pipeline {
  readonly #parts: PipelineParts
  readonly #draw: () => number
  readonly #access: RequestAccess

  constructor(parts: PipelineParts) {
    this.#parts = parts
    this.#draw = () => parts.random.next()
    this.#access = new RequestAccess(parts.isTrusted)
  }

  /** The reply, or undefined when the request is held until Middle's verdict or the deadline. */
  onBuy(exchange: Exchange, ticket: string): Reply | undefined {
    const { clock, gate } = this.#parts
    const now = clock.now()
    const scope = readTicketScope(ticket)
    if (scope === undefined) return problem('bad_ticket')
    const view = gate.view(scope.activityId, scope.skuId)
    if (view !== undefined) gate.counts.asks[view.row] = (gate.counts.asks[view.row] as number) + 1
    const shut = gateReply(view, now, this.#draw, problem('bad_ticket'))
    if (shut !== undefined || view === undefined) return shut
    const uid = this.uidOf(exchange, now)
    if (uid === 0) return problem('no_session')
    const refusal = this.#ticketReply(ticket, uid, now, view) ?? this.#accessReply(exchange, uid, now, view)
    return refusal ?? this.#ask(exchange, uid, view)
  }

  /** The buyer of a request, or 0. */
  uidOf(exchange: Exchange, now: number): number {
    const authorization = exchange.header('authorization')
    const cookie = authorization === '' ? exchange.header('cookie') : ''
    return this.#parts.sessions.uidOf(sessionText(authorization, cookie), now)
  }

  /** Access limits, then reservation; the stage of verdicts comes before, that of the grade after. */
  #accessReply(exchange: Exchange, uid: number, now: number, { activity, sku }: SkuView): Reply | undefined {
    const { limits } = this.#parts
    const waitMs = limits.take(activity, this.#access.of(exchange, uid, sku.id), now)
    if (waitMs > 0) return retryReplyIn('rate_limited', waitMs, this.#draw())
    return this.reservationReply(activity, uid)
  }

  reservationReply({ id, reservation }: ActivityDoc, uid: number): Reply | undefined {
    if (!reservation.required) return undefined
    const hasSeat = this.#parts.seats.hasSeat(id, uid)
    if (hasSeat === undefined) return retryReply('unavailable', this.#draw())
    return hasSeat ? undefined : problem('not_reserved')
  }

  #ticketReply(ticket: string, uid: number, now: number, view: SkuView): Reply | undefined {
    const outcome = this.#parts.tickets.verify(ticket, uid, now, view.activity.opensAt)
    if (outcome === 'ok') return undefined
    return outcome === 'early' ? view.notStarted : problem('bad_ticket')
  }

  /** An ask that is under way already is joined: one buyer has one ask per product in flight. */
  #ask(exchange: Exchange, uid: number, { activity, sku, row }: SkuView): Reply | undefined {
    const { asks, asker, clock, gate } = this.#parts
    const held = exchange.hold()
    const askId = asks.open(uid, activity.id, sku.id, clock.monotonic(), held)
    if (askId === JOINED) return undefined
    if (askId === FULL) {
      gate.counts.shed[row] = (gate.counts.shed[row] as number) + 1
      return this.#give(held, retryReply('overloaded', this.#draw()))
    }
    if (askId === CROWDED) return this.#give(held, retryReply('rate_limited', this.#draw()))
    if (asker.ask(askId, uid, activity.id, sku.id)) return undefined
    const reply = retryReply('unavailable', this.#draw())
    this.#parts.count(reply)
    asks.settle(askId, reply)
    return undefined
  }

  #give(held: Held, reply: Reply): undefined {
    this.#parts.count(reply)
    held.reply(reply)
  }
}

/** The request that is being limited; one object for all, because limits are taken at once. */
class RequestAccess implements Access {
  uid = 0
  skuId = 0
  readonly #isTrusted: (address: string) => boolean
  #exchange: Exchange | undefined

  constructor(isTrusted: (address: string) => boolean) {
    this.#isTrusted = isTrusted
  }

  of(exchange: Exchange, uid: number, skuId: number): this {
    this.#exchange = exchange
    this.uid = uid
    this.skuId = skuId
    return this
  }

  address(): string {
    const exchange = this.#exchange
    if (exchange === undefined) return ''
    const direct = plainAddress(exchange.remoteAddress())
    // The header is read only from whom it is believed.
    return this.#isTrusted(direct) ? clientAddress(direct, exchange.header('x-forwarded-for'), this.#isTrusted) : direct
  }
}
