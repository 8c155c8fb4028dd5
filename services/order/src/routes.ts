/** The order service's part of the buyer API: orders, payments, the provider's callbacks. */

import type { Db } from '@bigtap/db'
import { Problem, readJson, readUid } from '@bigtap/http'
import { CodedError } from '@bigtap/kernel'
import { OUTCOME } from '@bigtap/protocol'
import type { KeyRing } from '@bigtap/token'
import { type LedgerClient, LedgerFault } from '@bigtap/transport'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { parseCallback } from './core/callback.ts'
import { isPayable, orderView } from './core/order-view.ts'
import { checkSignature, type Sign } from './core/signature.ts'
import type { FoundOrder, OrderDesk } from './order-desk.ts'
import type { PaymentDesk } from './payment-desk.ts'

/** What the routes work with. */
export interface RouteParts {
  readonly ring: KeyRing
  readonly desk: OrderDesk
  readonly paymentDesk: Pick<PaymentDesk, 'onCallback'>
  readonly db: Pick<Db, 'orders' | 'payments'>
  readonly counter: Pick<LedgerClient, 'cancel'>
  readonly sign: Sign
  readonly publicOrigin: string
  readonly now: () => number
  /** How long a client that was answered 202 waits before it looks again, ms; with jitter. */
  readonly lookAgainMs: () => number
}

/** Adds `GET /v1/orders`, `GET /v1/orders/{id}` and `POST /v1/orders/{id}/cancel`. */
export function addOrderRoutes(app: FastifyInstance, { ring, desk, db, counter, now }: RouteParts): void {
  app.get('/v1/orders', async (request, reply) => {
    const uid = readUid(request, ring, now())
    const orders = await available(() => desk.listOf(uid))
    return reply.header('cache-control', 'no-store').send({ orders: orders.map(orderView) })
  })

  app.get('/v1/orders/:id', async (request, reply) =>
    reply.header('cache-control', 'no-store').send(orderView(await ownOrder(request, ring, desk, now()))),
  )

  app.post('/v1/orders/:id/cancel', async (request, reply) => {
    const order = await ownOrder(request, ring, desk, now())
    if (order.state !== 'cancelled') {
      if (!isPayable(order.state)) throw new Problem('wrong_state', { state: order.state })
      const { outcome, state } = await available(() => counter.cancel(order.activityId, order.orderId))
      if (outcome === OUTCOME.wrongState) throw new Problem('wrong_state', { state })
      if (outcome === OUTCOME.notFound) throw new Problem('not_found')
      if (outcome !== OUTCOME.ok && outcome !== OUTCOME.repeated) throw new Problem('unavailable')
      await noteCancelled(db, order, now())
    }
    return reply.header('cache-control', 'no-store').send(orderView({ ...order, state: 'cancelled' }))
  })
}

/** Adds `POST /v1/orders/{id}/payment` and `POST /v1/payments/callback`. */
export function addPaymentRoutes(app: FastifyInstance, parts: RouteParts): void {
  const { ring, desk, paymentDesk, db, sign, publicOrigin, now, lookAgainMs } = parts

  app.post('/v1/orders/:id/payment', async (request, reply) => {
    const order = await ownOrder(request, ring, desk, now())
    const { method } = readJson(request)
    if (method !== 'sandbox') throw new Problem('bad_request', { detail: 'method must be sandbox' })
    if (!isPayable(order.state) || order.payBy <= now()) throw new Problem('not_payable', { state: order.state })
    const { orderId, priceCents, quantity } = order
    const paymentId = paymentIdOf(orderId, sign)
    await available(() => db.payments.create({ paymentId, orderId, amountCents: priceCents * quantity }))
    const redirectUrl = `${publicOrigin}/v1/sandbox/payments/${paymentId}`
    return accepted(reply, lookAgainMs()).send({ paymentId, redirectUrl, retryAfterMs: lookAgainMs() })
  })

  app.post('/v1/payments/callback', async (request) => {
    const header = request.headers['x-payment-signature']
    const body = Buffer.isBuffer(request.body) ? request.body.toString() : ''
    if (checkSignature(typeof header === 'string' ? header : undefined, body, now(), sign) !== 'ok')
      throw new Problem('bad_signature')
    const parsed = parseCallback(readJson(request))
    if (!parsed.ok) throw new Problem('bad_request', { errors: parsed.errors })
    const result = await available(() => paymentDesk.onCallback(parsed.value))
    if (result === 'unknown') throw new Problem('not_found', { detail: 'no such payment' })
    if (result === undefined) throw new Problem('unavailable')
    return { eventId: parsed.value.eventId, result }
  })
}

/**
 * One payment per order, so that a buyer who asks twice cannot pay twice; made with the secret, since who knows it can act
 * on the sandbox's page.
 */
export function paymentIdOf(orderId: string, sign: Sign): string {
  return sign(`payment.${orderId}`).slice(0, 32)
}

/** A 202: come back in a while. */
export function accepted(reply: FastifyReply, waitMs: number): FastifyReply {
  return reply
    .code(202)
    .header('cache-control', 'no-store')
    .header('retry-after', Math.max(1, Math.ceil(waitMs / 1000)))
}

/** A source that is away is 503, not 500: the client comes again. */
export async function available<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Problem || !(error instanceof CodedError || isRedisLost(error))) throw error
    const isOverloaded = error instanceof LedgerFault && error.code === 'OVERLOADED'
    throw new Problem(isOverloaded ? 'overloaded' : 'unavailable', {}, error)
  }
}

/** Redis' own errors of a connection that is not there, or a command that took too long. */
function isRedisLost(error: unknown): boolean {
  return (
    error instanceof Error && /enableOfflineQueue|Command timed out|Connection is closed|LOADING/.test(error.message)
  )
}

async function ownOrder(request: FastifyRequest, ring: KeyRing, desk: OrderDesk, now: number): Promise<FoundOrder> {
  const uid = readUid(request, ring, now)
  const { id } = request.params as { id: string }
  const order = await available(() => desk.find(id, uid))
  if (!order) throw new Problem('not_found')
  return order
}

/** The event log will store it; this only lets the buyer see it at once. */
async function noteCancelled(db: Pick<Db, 'orders'>, { row }: FoundOrder, now: number): Promise<void> {
  if (row.state !== 'held') return
  const cancelled = { ...row, state: 'cancelled', version: row.version + 1, updatedAt: now } as const
  await db.orders.upsertMany([cancelled]).catch((error: unknown) => {
    if (!(error instanceof CodedError)) throw error
  })
}
