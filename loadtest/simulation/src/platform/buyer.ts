/** A buyer of the simulated public: a person who clicks once or twice, or a bot that tries everything. */

import type { CartAnswer } from '@bigtap/cart/core/cart'
import type { Reply } from '@bigtap/limiter/core/reply'
import { issueSession, verifyAdmission } from '@bigtap/token'
import { EPOCH_MS } from '../world/world.ts'
import type { CartFront } from './cart.ts'
import type { Front } from './front.ts'
import type { LimiterFront } from './limiter.ts'
import type { OrderFront } from './order.ts'
import type { Site } from './site.ts'

/** The doors that are open to the public now; a restarted process is another door. */
export interface Doors {
  limiter(): LimiterFront | undefined
  cart(): CartFront | undefined
  order(): OrderFront | undefined
}

/** What a buyer is like; shares in [0, 1]. */
export interface Traits {
  readonly skuIds: readonly number[]
  /** Clicks at a time, and cart calls per token. */
  readonly clicks: number
  readonly pays: number
  readonly paysLate: number
  readonly cancels: number
  /** Until when the buyer tries, ms since the start. */
  readonly until: number
}

const REQUEST_MS = 1_000
const CALLBACKS_MAX = 60
const CART_TRIES_MAX = 40

/** Wants one unit of each of its SKUs. */
export class Buyer {
  readonly uid: number
  readonly #traits: Traits
  readonly #site: Site
  readonly #doors: Doors
  readonly #session: string
  readonly #address: string
  readonly #carted = new Set<string>()

  constructor(uid: number, traits: Traits, { site, doors }: { site: Site; doors: Doors }) {
    this.uid = uid
    this.#traits = traits
    this.#site = site
    this.#doors = doors
    this.#session = issueSession(site.ring, { uid, expiresAt: EPOCH_MS + 3_600_000 })
    this.#address = `10.0.${uid >> 8}.${uid & 255}`
  }

  start(): void {
    for (const skuId of this.#traits.skuIds) this.#visit(skuId)
  }

  /** Fetches the hidden path, then asks there. */
  #visit(skuId: number): void {
    const { id } = this.#site.sale.activity
    this.#get(`/v1/activities/${id}/skus/${skuId}/path`, (reply) => {
      const body = bodyOf(reply)
      if (reply?.status === 200)
        for (let click = 0; click < this.#traits.clicks; click++) this.#ask(String(body.path), skuId)
      else this.#later(waitOf(body, 400), () => this.#visit(skuId))
    })
  }

  #ask(path: string, skuId: number): void {
    this.#get(path, (reply) => {
      const body = bodyOf(reply)
      if (reply?.status === 200) this.#onToken(String(body.token), skuId)
      else if (reply?.status === 400) this.#later(200, () => this.#visit(skuId))
      else this.#later(waitOf(body, 700), () => this.#ask(path, skuId))
    })
  }

  #onToken(token: string, skuId: number): void {
    const { ring, oracle, world } = this.#site
    const result = verifyAdmission(ring, token, 0)
    if (!result.ok) {
      world.violate(`buyer ${this.uid} was given a bad token`)
      return
    }
    const { tokenId, expiresAt, uid } = result.claims
    oracle.onToken(tokenId, { uid, skuId: result.claims.skuId, expiresAt })
    if (uid !== this.uid || result.claims.skuId !== skuId) {
      world.violate(`buyer ${this.uid} was given ${uid}'s token`)
      return
    }
    if (this.#carted.has(tokenId) && this.#traits.clicks === 1) return
    this.#carted.add(tokenId)
    for (let click = 0; click < this.#traits.clicks; click++) this.#cart(token, { tokenId, skuId, tries: 0 })
  }

  #cart(token: string, buy: { tokenId: string; skuId: number; tries: number }): void {
    const again = () => {
      if (buy.tries < CART_TRIES_MAX) this.#later(200, () => this.#cart(token, { ...buy, tries: buy.tries + 1 }))
    }
    this.#call<CartFront, CartAnswer>(
      this.#doors.cart(),
      (door, answer) => door.buy(token, this.uid, answer),
      (answer) => {
        if (answer === undefined) return again()
        if (answer.kind === 'accepted') return this.#onOrder(buy, answer.body)
        if (answer.code === 'unavailable' || answer.code === 'overloaded') return again()
        this.#later(600, () => this.#visit(buy.skuId))
      },
    )
  }

  #onOrder(
    buy: { tokenId: string; skuId: number },
    body: { orderId: string; quantity: number; priceCents: number; payBy: number },
  ): void {
    const { oracle, world } = this.#site
    const isFirst = !oracle.told.has(body.orderId)
    oracle.onOrder(body.orderId, buy.tokenId, { uid: this.uid, skuId: buy.skuId, quantity: body.quantity })
    if (!isFirst) return
    const draw = world.random.next()
    const { pays, paysLate, cancels } = this.#traits
    const amountCents = body.priceCents * body.quantity
    if (draw < pays)
      world.after(world.between(20, 600), () => this.#pay(body.orderId, { amountCents, waitMs: 0, tries: 0 }))
    else if (draw < pays + paysLate)
      world.after(10, () =>
        this.#pay(body.orderId, { amountCents, waitMs: body.payBy - EPOCH_MS - world.now, tries: 0 }),
      )
    else if (draw < pays + paysLate + cancels) world.after(world.between(20, 500), () => this.#cancel(body.orderId))
    // Who buys again later must be refused while the unit is his, and may when it went back.
    this.#later(world.between(500, 4_000), () => this.#visit(buy.skuId))
  }

  #pay(orderId: string, payment: { amountCents: number; waitMs: number; tries: number }): void {
    const { world } = this.#site
    this.#call<OrderFront, [string, string]>(
      this.#doors.order(),
      (door, answer) => door.pay(orderId, this.uid, (result, paymentId) => answer([result, paymentId])),
      (answer) => {
        const [result, paymentId] = answer ?? ['unavailable', '']
        if (result === 'unavailable' && payment.tries < 10)
          world.after(250, () => this.#pay(orderId, { ...payment, tries: payment.tries + 1 }))
        if (result !== 'done') return
        const event = { eventId: `e${paymentId}`, paymentId, orderId, amountCents: payment.amountCents }
        const copies = 1 + world.below(3)
        for (let copy = 0; copy < copies; copy++)
          world.after(Math.max(0, payment.waitMs) + world.between(5, 300), () => this.#provider(event, 0))
      },
    )
  }

  /** The payment provider calls until it is answered. */
  #provider(event: { eventId: string; paymentId: string; orderId: string; amountCents: number }, tries: number): void {
    const { oracle, world } = this.#site
    this.#call<OrderFront, string | undefined>(
      this.#doors.order(),
      (door, answer) => door.callback(event, answer),
      (result) => {
        if (result === 'paid') return oracle.onPaid(event.orderId)
        if (result === undefined && tries < CALLBACKS_MAX) world.after(300, () => this.#provider(event, tries + 1))
        if (result === 'refund_pending') oracle.counts.refunds++
      },
    )
  }

  #cancel(orderId: string): void {
    this.#call<OrderFront, string>(
      this.#doors.order(),
      (door, answer) => door.cancel(orderId, this.uid, answer),
      () => undefined,
    )
  }

  #get(path: string, onReply: (reply: Reply | undefined) => void): void {
    const request = { path, session: this.#session, address: this.#address }
    this.#call<LimiterFront, Reply>(this.#doors.limiter(), (door, answer) => door.request(request, answer), onReply)
  }

  /** One request over the public network; undefined when no answer came in time. */
  #call<D extends Front, T>(
    door: D | undefined,
    send: (door: D, answer: (value: T) => void) => void,
    onAnswer: (value: T | undefined) => void,
  ): void {
    const { world, network } = this.#site
    let isOver = false
    const finish = (value: T | undefined) => {
      if (isOver) return
      isOver = true
      onAnswer(value)
    }
    world.after(REQUEST_MS, () => finish(undefined))
    if (door === undefined) return
    world.after(network.delayMs() + 2, () =>
      world.runIn(door.process, () => send(door, (value) => world.after(network.delayMs() + 2, () => finish(value)))),
    )
  }

  #later(ms: number, run: () => void): void {
    const { world } = this.#site
    if (world.now + ms < this.#traits.until) world.after(ms * world.between(0.9, 1.1), run)
  }
}

function bodyOf(reply: Reply | undefined): Record<string, unknown> {
  return reply === undefined ? {} : (JSON.parse(reply.body) as Record<string, unknown>)
}

function waitOf({ retryAfterMs }: Record<string, unknown>, otherwise: number): number {
  return typeof retryAfterMs === 'number' ? Math.min(1_500, retryAfterMs) : otherwise
}
