/** The buyer API of the limiter: which request goes where. */

import type { CatalogView } from '@bigtap/catalog'
import { parseId } from '@bigtap/domain'
import type { Logger } from '@bigtap/kernel'
import { ACCESS_CALL, ACCESS_FLAG } from '@bigtap/protocol'
import { issueSession } from '@bigtap/token'
import type { ActivityPages } from './activity-pages.ts'
import type { ChallengeDesk } from './challenge-desk.ts'
import { isHoneypot } from './core/honeypots.ts'
import { problem, retryReply } from './core/replies.ts'
import { jsonReply, methodReply, type Reply } from './core/reply.ts'
import { Requester } from './core/requester.ts'
import { BUY_PREFIX, METHODS, type Route, routeOf } from './core/routes.ts'
import type { Exchange, Held } from './edge/edge.ts'
import type { IdTokenVerifier } from './id-token.ts'
import { PathCalls } from './path-call.ts'
import type { Pipeline, PipelineParts } from './pipeline.ts'
import type { Reserved, SeatKeeper } from './seats.ts'

/** Times and switches of the API. */
export interface AppSettings {
  readonly devLogin: boolean
  readonly sessionMs: number
  readonly ticketMs: number
  readonly isSecure: boolean
}

/** Collaborators of the API. */
export interface AppParts extends Omit<PipelineParts, 'seats'> {
  readonly pipeline: Pipeline
  readonly pages: ActivityPages
  readonly challenges: ChallengeDesk
  readonly catalog: CatalogView
  readonly seats: SeatKeeper
  readonly verifyIdToken: IdTokenVerifier | undefined
  readonly logger: Logger
}

/** Exchanges of identity tokens under way at a time; one more is told to come back. */
export const EXCHANGES_MAX = 64

/** Answers every request. */
export class App {
  readonly #settings: AppSettings
  readonly #parts: AppParts
  readonly #paths: PathCalls
  #exchanges = 0

  constructor(settings: AppSettings, parts: AppParts) {
    this.#settings = settings
    this.#parts = parts
    this.#paths = new PathCalls(settings, parts)
  }

  readonly onExchange = (exchange: Exchange): void => {
    const reply = this.#replyOf(exchange)
    if (reply === undefined) return
    this.#parts.count(reply)
    exchange.reply(reply)
  }

  /** The reply, or undefined when the request is held. */
  #replyOf(exchange: Exchange): Reply | undefined {
    const { path, method } = exchange
    // The one hot path, before the others.
    if (path.startsWith(BUY_PREFIX) && (method === 'GET' || method === 'POST')) {
      return this.#parts.pipeline.onBuy(exchange, path.slice(BUY_PREFIX.length))
    }
    const route = routeOf(path)
    if (route === undefined) return this.#onUnknown(exchange)
    const methods = METHODS[route.name]
    return methods.includes(method) ? this.#dispatch(exchange, route) : methodReply(methods.join(', '))
  }

  #dispatch(exchange: Exchange, route: Route): Reply | undefined {
    const now = this.#parts.clock.now()
    switch (route.name) {
      case 'time':
        return jsonReply(200, { now })
      case 'activities':
        return this.#parts.pages.list(exchange.header('if-none-match'), now)
      case 'activity':
        return this.#onActivity(exchange, route.activityId, now)
      case 'path':
        return this.#paths.onPath(exchange, route.activityId, route.skuId)
      case 'queue':
      case 'draw':
        return this.#onLine(route.name, route.activityId, route.skuId, now)
      case 'session':
        return this.#onSession(exchange)
      case 'reservation':
        return this.#onReservation(exchange, route.activityId, now)
      case 'buy':
        return problem('bad_ticket')
    }
  }

  /** Who tries paths that are not ours is known by it. */
  #onUnknown(exchange: Exchange): Reply {
    const { clock, grader, pipeline } = this.#parts
    const who = pipeline.begin(exchange)
    const now = clock.now()
    who.uid = pipeline.uidOf(exchange, now)
    if (isHoneypot(exchange.path)) grader.strike(who, ACCESS_FLAG.honeypot, now)
    const reply = problem('not_found')
    pipeline.log(who, ACCESS_CALL.other, reply)
    return reply
  }

  #onActivity(exchange: Exchange, activityId: string, now: number): Reply {
    const id = parseId(activityId)
    const page = id === undefined ? undefined : this.#parts.pages.one(id, exchange.header('if-none-match'), now)
    return page ?? problem('not_found')
  }

  #onLine(page: 'queue' | 'draw', activityId: string, skuId: string, now: number): Reply {
    return this.#parts.pages[page](parseId(activityId) ?? 0, parseId(skuId) ?? 0, now) ?? problem('not_found')
  }

  #onReservation(exchange: Exchange, activityText: string, now: number): Reply | undefined {
    const { catalog, pipeline, random, seats, logger } = this.#parts
    const who = pipeline.begin(exchange)
    const uid = pipeline.uidOf(exchange, now)
    if (uid === 0) return problem('no_session')
    who.uid = uid
    const activity = catalog.activity(parseId(activityText) ?? 0)
    if (activity === undefined || activity.state === 'draft') return problem('not_found')
    const { opensAt, closesAt } = activity.reservation
    if (now < opensAt || now >= closesAt) return problem('reservation_closed')
    who.activityId = activity.id
    const held = this.#parts.held.hold(exchange.hold(), who, ACCESS_CALL.other)
    seats.reserve(activity.id, uid).then(
      (result) => held.reply(reservedReply(result, activity.id, uid, random.next())),
      (error: unknown) => {
        logger.debug({ error }, 'reservation could not be written')
        held.reply(retryReply('unavailable', random.next()))
      },
    )
    return undefined
  }

  #onSession(exchange: Exchange): Reply | undefined {
    const { held, pipeline } = this.#parts
    const who = new Requester().copy(pipeline.begin(exchange))
    exchange.readBody((direct, body) => {
      const asked = held.hold(direct, who, ACCESS_CALL.session)
      const reply = this.#sessionOf(asked, parseObject(body))
      if (reply !== undefined) asked.reply(reply)
    })
    return undefined
  }

  #sessionOf(held: Held, fields: Record<string, unknown> | undefined): Reply | undefined {
    if (fields?.idToken !== undefined) return this.#exchangeIdToken(held, fields.idToken)
    const uid = typeof fields?.uid === 'number' ? parseId(fields.uid) : undefined
    if (uid === undefined) return problem('bad_request')
    return this.#settings.devLogin ? this.#sessionReply(uid) : problem('forbidden')
  }

  #exchangeIdToken(held: Held, idToken: unknown): Reply | undefined {
    const { verifyIdToken, random } = this.#parts
    if (typeof idToken !== 'string') return problem('bad_request')
    if (verifyIdToken === undefined) return problem('forbidden')
    if (this.#exchanges >= EXCHANGES_MAX) return retryReply('overloaded', random.next())
    this.#exchanges++
    void verifyIdToken(idToken).then((result) => {
      this.#exchanges--
      const isRefused = !result.ok && result.reason === 'refused'
      const failed = isRefused ? problem('no_session') : retryReply('unavailable', random.next())
      held.reply(result.ok ? this.#sessionReply(result.uid) : failed)
    })
    return undefined
  }

  #sessionReply(uid: number): Reply {
    const { sessionMs, isSecure } = this.#settings
    const expiresAt = Math.ceil((this.#parts.clock.now() + sessionMs) / 1000) * 1000
    const session = issueSession(this.#parts.ring, { uid, expiresAt })
    const secure = isSecure ? '; Secure' : ''
    const age = Math.floor(sessionMs / 1000)
    const cookie = `bt_session=${session}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${age}${secure}`
    return jsonReply(200, { session, uid, expiresAt }, ['cache-control', 'no-store', 'set-cookie', cookie])
  }
}

function reservedReply(result: Reserved, activityId: number, uid: number, draw: number): Reply {
  if (result === 'full') return problem('reservation_closed')
  if (result === 'busy') return retryReply('overloaded', draw)
  return jsonReply(result === 'first' ? 201 : 200, { activityId, uid, reserved: true })
}

function parseObject(body: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined // a body that is no JSON is answered 400 by the caller
  }
}
