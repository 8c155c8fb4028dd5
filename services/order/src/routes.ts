/** The order service's part of the buyer API. */

import { randomUUID } from 'node:crypto'
import type { Db } from '@bigtap/db'
import { CodedError } from '@bigtap/kernel'
import { OUTCOME } from '@bigtap/protocol'
import type { KeyRing } from '@bigtap/token'
import { type LedgerClient, LedgerFault } from '@bigtap/transport'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { parseCallback } from './core/callback.ts'
import { isPayable, orderView } from './core/order-view.ts'
import { checkSignature, type Sign } from './core/signature.ts'
import { Problem, readJson } from './http/edge.ts'
import { readUid } from './http/session.ts'
import type { FoundOrder, OrderDesk } from './order-desk.ts'
import type { PaymentDesk } from './payment-desk.ts'
import { type Sandbox, sandboxPage } from './sandbox.ts'

/** What the routes work with. */
export interface RouteParts {
  readonly ring: KeyRing
  readonly desk: OrderDesk
  readonly paymentDesk: PaymentDesk
  readonly db: Pick<Db, 'orders' | 'payments'>
  readonly ledger: Pick<LedgerClient, 'cancel'>
  readonly sandbox: Sandbox
  readonly sign: Sign
  readonly publicOrigin: string
  readonly now: () => number
}

const PAYMENT_ID = /^[0-9a-f-]{36}$/

/** Adds all routes. */
export function addOrderRoutes(app: FastifyInstance, parts: RouteParts): void {
  addOrderQueries(app, parts)
  addPaymentRoutes(app, parts)
  addSandboxRoutes(app, parts)
}

function addOrderQueries(app: FastifyInstance, { ring, desk, ledger, now }: RouteParts): void {
  app.get('/v1/orders', async (request, reply) => {
    const orders = await store(() => desk.listOf(readUid(request, ring, now())))
    return reply.header('cache-control', 'no-store').send({ orders: orders.map(orderView) })
  })

  app.get('/v1/orders/:id', async (request, reply) =>
    reply.header('cache-control', 'no-store').send(orderView(await ownOrder(request, ring, desk, now()))),
  )

  app.post('/v1/orders/:id/cancel', async (request) => {
    const order = await ownOrder(request, ring, desk, now())
    const { outcome } = await ask(() => ledger.cancel(order.activityId, order.orderId))
    if (outcome === OUTCOME.ok || outcome === OUTCOME.repeated) return orderView({ ...order, state: 'cancelled' })
    if (outcome === OUTCOME.wrongState) throw new Problem('wrong_state', { state: order.state })
    throw new Problem(outcome === OUTCOME.notFound ? 'not_found' : 'unavailable')
  })
}

function addPaymentRoutes(app: FastifyInstance, parts: RouteParts): void {
  const { ring, desk, paymentDesk, db, sign, publicOrigin, now } = parts

  app.post('/v1/orders/:id/payment', async (request, reply) => {
    const order = await ownOrder(request, ring, desk, now())
    const { method } = readJson(request)
    if (method !== 'sandbox')
      throw new Problem('bad_request', { errors: [`method must be sandbox, not ${JSON.stringify(method)}`] })
    if (!isPayable(order.state) || order.payBy < now()) throw new Problem('not_payable', { state: order.state })
    const { orderId, priceCents, quantity } = order
    const paymentId = randomUUID()
    await store(() => db.payments.create({ paymentId, orderId, amountCents: priceCents * quantity }))
    const redirectUrl = `${publicOrigin}/v1/sandbox/payments/${paymentId}`
    return reply.code(202).header('cache-control', 'no-store').send({ paymentId, redirectUrl })
  })

  app.post('/v1/payments/callback', async (request) => {
    const header = request.headers['x-payment-signature']
    const body = Buffer.isBuffer(request.body) ? request.body.toString() : ''
    if (checkSignature(typeof header === 'string' ? header : undefined, body, now(), sign) !== 'ok')
      throw new Problem('bad_signature')
    const parsed = parseCallback(readJson(request))
    if (!parsed.ok) throw new Problem('bad_request', { errors: parsed.errors })
    const result = await store(() => paymentDesk.onCallback(parsed.value))
    if (result === undefined) throw new Problem('unavailable')
    return { received: true }
  })
}

function addSandboxRoutes(app: FastifyInstance, { db, sandbox }: RouteParts): void {
  const paymentOf = async (request: FastifyRequest) => {
    const { id } = request.params as { id: string }
    const payment = PAYMENT_ID.test(id) ? await store(() => db.payments.get(id)) : undefined
    if (!payment) throw new Problem('not_found')
    return payment
  }
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, JSON.stringify(Object.fromEntries(new URLSearchParams(String(body))))),
  )

  app.get('/v1/sandbox/payments/:id', async (request, reply) => {
    const { paymentId, amountCents } = await paymentOf(request)
    return reply.type('text/html; charset=utf-8').send(sandboxPage(paymentId, amountCents, ''))
  })

  app.post('/v1/sandbox/payments/:id', async (request, reply) => {
    const { paymentId, orderId, amountCents } = await paymentOf(request)
    const { outcome } = readJson(request)
    if (outcome !== 'paid' && outcome !== 'failed')
      throw new Problem('bad_request', { errors: ['outcome must be paid or failed'] })
    const callback = {
      eventId: `sandbox-${paymentId}-${outcome}`,
      paymentId,
      orderId,
      type: outcome,
      amountCents,
    } as const
    void sandbox.send(callback)
    return reply.code(202).send({ paymentId, outcome })
  })
}

async function ownOrder(request: FastifyRequest, ring: KeyRing, desk: OrderDesk, now: number): Promise<FoundOrder> {
  const uid = readUid(request, ring, now)
  const { id } = request.params as { id: string }
  const order = await store(() => desk.find(id, uid))
  if (!order) throw new Problem('not_found')
  return order
}

/** A database or Redis that is away is 503, not 500: the client comes again. */
async function store<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Problem || !(error instanceof CodedError || isLost(error))) throw error
    throw new Problem('unavailable', {}, error)
  }
}

async function ask<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof LedgerFault)) throw error
    throw new Problem(error.code === 'OVERLOADED' ? 'overloaded' : 'unavailable', {}, error)
  }
}

/** Redis' own errors of a connection that is not there, or a command that took too long. */
function isLost(error: unknown): boolean {
  return error instanceof Error && /enableOfflineQueue|Command timed out|Connection is closed/.test(error.message)
}
