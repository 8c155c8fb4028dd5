/**
 * The call for the hidden path. It is given only from the opening time on, by this process's own clock; before that, and
 * where the activity says so, whoever asks is shown a challenge.
 *
 *   gate: shut for good ─► 410, 503        not started, no challenge yet ─► 425
 *   session ─► grade ─► reservation ─► challenge (428) ─► not started: 425 {pass} · open: 200 {path, pass}
 */

import { isChallenged, parseId, problemBody, type Tier } from '@bigtap/domain'
import type { Clock, Random } from '@bigtap/kernel'
import { ACCESS_CALL } from '@bigtap/protocol'
import { issueTicket, type KeyRing } from '@bigtap/token'
import type { ChallengeDesk, Checked, EarnedPass } from './challenge-desk.ts'
import { passCookie } from './core/challenges.ts'
import { type Gate, gateReply, type SkuView } from './core/gate.ts'
import type { Grader } from './core/grade.ts'
import { BLOCKED, problem } from './core/replies.ts'
import { jsonReply, makeReply, type Reply } from './core/reply.ts'
import { Requester } from './core/requester.ts'
import { BUY_PREFIX } from './core/routes.ts'
import type { Exchange } from './edge/edge.ts'
import type { Pipeline } from './pipeline.ts'

/** Life of a ticket, ms, and whether cookies are for https only. */
export interface PathSettings {
  readonly ticketMs: number
  readonly isSecure: boolean
}

/** Collaborators of the path call. */
export interface PathParts {
  readonly clock: Clock
  readonly random: Random
  readonly ring: KeyRing
  readonly gate: Gate
  readonly grader: Grader
  readonly pipeline: Pipeline
  readonly challenges: ChallengeDesk
  count(reply: Reply): void
}

/** The worst tier: is anybody asked at all? */
const WORST = 5

/** Answers the path calls of one process. */
export class PathCalls {
  readonly #settings: PathSettings
  readonly #parts: PathParts
  readonly #draw: () => number

  constructor(settings: PathSettings, parts: PathParts) {
    this.#settings = settings
    this.#parts = parts
    this.#draw = () => parts.random.next()
  }

  /** The reply, or undefined when the request is held until an answer to a challenge is checked. */
  onPath(exchange: Exchange, activityText: string, skuText: string): Reply | undefined {
    const { clock, count, grader, pipeline } = this.#parts
    const who = pipeline.begin(exchange)
    who.activityId = parseId(activityText) ?? 0
    who.skuId = parseId(skuText) ?? 0
    const result = this.#resultOf(exchange, who)
    if (!(result instanceof Promise)) {
      pipeline.log(who, ACCESS_CALL.path, result)
      return result
    }
    const held = exchange.hold()
    const asked = new Requester().copy(who)
    void result.then((checked) => {
      const reply = checked.earned === undefined ? checked.reply : this.#give(asked, checked.earned)
      if (checked.flags !== 0) grader.strike(asked, checked.flags, clock.now())
      count(reply)
      pipeline.log(asked, ACCESS_CALL.path, reply)
      held.reply(reply)
    })
    return undefined
  }

  #resultOf(exchange: Exchange, who: Requester): Reply | Promise<Checked> {
    const { clock, gate, grader, pipeline } = this.#parts
    const now = clock.now()
    const view = gate.view(who.activityId, who.skuId)
    const shut = gateReply(view, now, this.#draw, problem('not_found'))
    if (view === undefined) return problem('not_found')
    const { activity } = view
    const mayBeAsked = isChallenged(activity.challenge, WORST, activity.opensAt, now)
    // Most early calls end here, from memory.
    if (shut !== undefined && !(shut === view.notStarted && mayBeAsked)) return shut
    who.uid = pipeline.uidOf(exchange, now)
    if (who.uid === 0) return shut ?? problem('no_session')
    grader.grade(who, now)
    if (grader.isBlocked(who, now)) return shut ?? BLOCKED
    const keptBack = shut === undefined ? pipeline.keptBackReply(who) : undefined
    if (keptBack !== undefined) return keptBack
    // Before the opening a seat may still be taken.
    const refusal = shut === undefined ? pipeline.reservationReply(activity, who.uid) : undefined
    if (refusal !== undefined) return refusal
    return (mayBeAsked ? this.#challenge(exchange, who, view) : undefined) ?? this.#give(who, undefined)
  }

  #challenge(exchange: Exchange, { uid, activityId, tier }: Requester, { activity }: SkuView) {
    const pass = exchange.header('x-challenge-pass')
    return this.#parts.challenges.check(
      activity,
      { uid, activityId, tier: tier as Tier },
      { pass, cookie: pass === '' ? exchange.header('cookie') : '', answer: exchange.header('x-challenge') },
    )
  }

  /** The path, or the opening time; with the pass that was earned. The gate is asked anew: checking took its time. */
  #give(who: Requester, earned: EarnedPass | undefined): Reply {
    const { clock, gate } = this.#parts
    const now = clock.now()
    const view = gate.view(who.activityId, who.skuId)
    const shut = gateReply(view, now, this.#draw, problem('not_found'))
    if (view === undefined) return problem('not_found')
    if (shut !== undefined && (earned === undefined || shut !== view.notStarted)) return shut
    const body = earned === undefined ? {} : { pass: earned.pass, passExpiresAt: earned.expiresAt }
    const headers = this.#headersOf(who.activityId, earned, now)
    if (shut === undefined) return jsonReply(200, { ...this.#pathOf(view, who.uid, now), ...body }, headers)
    const more = { opensAt: view.activity.opensAt, ...body }
    const { outcome, status } = shut
    const text = JSON.stringify(problemBody('not_started', more))
    return makeReply({ outcome, status, type: 'application/problem+json', body: text, headers })
  }

  #pathOf({ activity, sku }: SkuView, uid: number, now: number) {
    const expiresAt = now + this.#settings.ticketMs
    const claims = { uid, activityId: activity.id, skuId: sku.id, notBefore: activity.opensAt, expiresAt }
    return { path: `${BUY_PREFIX}${issueTicket(this.#parts.ring, claims)}`, expiresAt }
  }

  #headersOf(activityId: number, earned: EarnedPass | undefined, now: number): string[] {
    const headers = ['cache-control', 'no-store']
    if (earned === undefined) return headers
    const cookie = passCookie(earned.pass, activityId, earned.expiresAt - now, this.#settings.isSecure)
    return [...headers, 'set-cookie', cookie]
  }
}
