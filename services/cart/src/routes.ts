import { Problem, readJson, readUid } from '@bigtap/http'
import type { Clock, Counter, Metrics } from '@bigtap/kernel'
import type { LedgerReply } from '@bigtap/protocol'
import { type AdmissionClaims, type KeyRing, verifyAdmission } from '@bigtap/token'
import { LedgerFault } from '@bigtap/transport'
import type { FastifyInstance } from 'fastify'
import { admit, answerOf, type CartAnswer } from './core/cart.ts'

/** What the cart asks: the ledger client, or another in a test. */
export interface Reserving {
  reserve(claims: AdmissionClaims): Promise<LedgerReply>
}

/** What the routes work with. */
export interface CartParts {
  readonly ring: KeyRing
  readonly ledger: Reserving
  /** Is the cart's layer of that activity known to be shut? */
  readonly isShut: (activityId: number) => boolean
  readonly clock: Clock
  readonly metrics: Metrics
}

/** `POST /v1/cart {token}`: session, token, ledger, answer. */
export function addCartRoutes(app: FastifyInstance, { ring, ledger, isShut, clock, metrics }: CartParts): void {
  const answered = countAnswers(metrics)

  app.post('/v1/cart', async (request, reply) => {
    const now = clock.now()
    const uid = readUid(request, ring, now)
    const { token } = readJson(request)
    const admission = admit(verifyAdmission(ring, typeof token === 'string' ? token : '', now), { uid, isShut })
    const answer: CartAnswer =
      admission.kind === 'refused' ? { kind: 'problem', code: admission.code } : await ask(ledger, admission.claims)
    answered(answer)
    if (answer.kind === 'problem') throw new Problem(answer.code)
    return reply.code(answer.status).header('cache-control', 'no-store').send(answer.body)
  })
}

/** No reply is no refusal: the buyer is told to come back with the same token. */
async function ask(ledger: Reserving, claims: AdmissionClaims): Promise<CartAnswer> {
  try {
    return answerOf(await ledger.reserve(claims))
  } catch (error) {
    if (!(error instanceof LedgerFault)) throw error
    return { kind: 'problem', code: error.code === 'OVERLOADED' ? 'overloaded' : 'unavailable' }
  }
}

function countAnswers(metrics: Metrics): (answer: CartAnswer) => void {
  const counters = new Map<string, Counter>()
  return (answer) => {
    const name = answer.kind === 'problem' ? answer.code : answer.status === 201 ? 'accepted' : 'repeated'
    let counter = counters.get(name)
    if (counter === undefined) {
      counter = metrics.counter('bigtap_cart_answers_total', 'answers of the cart', { answer: name })
      counters.set(name, counter)
    }
    counter.inc()
  }
}
