/** The sandbox provider's page and button. Who knows a payment's id may act on it, as on a real provider's page. */

import type { Db, PaymentRow } from '@bigtap/db'
import { Problem, readJson } from '@bigtap/http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { accepted, available } from './routes.ts'
import type { Sandbox } from './sandbox.ts'

/** What the routes work with. */
export interface SandboxRouteParts {
  readonly db: Pick<Db, 'payments'>
  readonly sandbox: Pick<Sandbox, 'send'>
  readonly lookAgainMs: () => number
}

const PAYMENT_ID = /^[0-9a-f]{32}$/

/** Adds `GET` and `POST /v1/sandbox/payments/{id}`; only here a form is taken as well as JSON. */
export function addSandboxRoutes(app: FastifyInstance, { db, sandbox, lookAgainMs }: SandboxRouteParts): void {
  app.register(async (scope) => {
    scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
      done(null, JSON.stringify(Object.fromEntries(new URLSearchParams(String(body))))),
    )

    scope.get('/v1/sandbox/payments/:id', async (request, reply) => {
      const payment = await paymentOf(db, request)
      return reply
        .header('cache-control', 'no-store')
        .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'")
        .type('text/html; charset=utf-8')
        .send(pageOf(payment))
    })

    scope.post('/v1/sandbox/payments/:id', async (request, reply) => {
      const { paymentId, orderId, amountCents } = await paymentOf(db, request)
      const { outcome } = readJson(request)
      if (outcome !== 'paid' && outcome !== 'failed')
        throw new Problem('bad_request', { detail: 'outcome must be paid or failed' })
      // The id is made of what happened: a button that is pressed twice is one event.
      const event = {
        eventId: `sandbox-${paymentId}-${outcome}`,
        paymentId,
        orderId,
        type: outcome,
        amountCents,
      } as const
      const delivery = await sandbox.send(event)
      if (delivery === 'dropped') throw new Problem('overloaded')
      if (delivery === 'waiting')
        return accepted(reply, lookAgainMs()).send({ paymentId, outcome, delivery, retryAfterMs: lookAgainMs() })
      return reply.header('cache-control', 'no-store').send({ paymentId, outcome, delivery })
    })
  })
}

async function paymentOf(db: Pick<Db, 'payments'>, request: FastifyRequest): Promise<PaymentRow> {
  const { id } = request.params as { id: string }
  const payment = PAYMENT_ID.test(id) ? await available(() => db.payments.get(id)) : undefined
  if (!payment) throw new Problem('not_found')
  return payment
}

/** Nothing in it comes from a client: the id is hexadecimal, the amount a number. */
function pageOf({ paymentId, amountCents, state }: PaymentRow): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sandbox payment</title><style>:root{color-scheme:light dark}body{font:1rem/1.5 system-ui;max-width:30rem;margin:3rem auto;padding:0 1rem}button{font:inherit;padding:.5rem 1rem}</style>
<h1>Sandbox payment</h1><p>Payment <code>${paymentId}</code> of ${(amountCents / 100).toFixed(2)}, ${state}. No money moves.</p>
<form method="post"><button name="outcome" value="paid">Pay</button> <button name="outcome" value="failed">Let it fail</button></form></html>`
}
