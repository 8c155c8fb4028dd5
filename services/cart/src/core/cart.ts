/** What a cart call comes to: from the token to the ledger's call, from the ledger's reply to the answer. Pure. */

import type { ProblemCode } from '@bigtap/domain'
import { type LedgerReply, OUTCOME, type Outcome } from '@bigtap/protocol'
import type { AdmissionClaims, AdmissionResult } from '@bigtap/token'

/** Ask the ledger with these claims, or refuse. */
export type Admission =
  | { readonly kind: 'ask'; readonly claims: AdmissionClaims }
  | { readonly kind: 'refused'; readonly code: ProblemCode }

/**
 * May this buyer bring this token to the ledger? One that has run out is asked about, too: the ledger knows whether it
 * was used in time, and a repeat must get the same answer. Only the ledger's clock judges expiry.
 */
export function admit(
  token: AdmissionResult,
  { uid, isShut }: { uid: number; isShut: (activityId: number) => boolean },
): Admission {
  const claims = token.ok || token.reason === 'expired' ? token.claims : undefined
  if (claims === undefined || claims.uid !== uid) return { kind: 'refused', code: 'bad_token' }
  return isShut(claims.activityId) ? { kind: 'refused', code: 'unavailable' } : { kind: 'ask', claims }
}

/** The body of an accepted cart call. */
export interface CartBody {
  readonly orderId: string
  readonly activityId: number
  readonly skuId: number
  readonly quantity: number
  readonly state: 'held'
  readonly priceCents: number
  readonly payBy: number
}

/** What the buyer is answered. */
export type CartAnswer =
  | { readonly kind: 'accepted'; readonly status: 200 | 201; readonly body: CartBody }
  | { readonly kind: 'problem'; readonly code: ProblemCode }

/** A reply that makes no order, by its outcome. What is not listed cannot come of a reserve and is "unavailable". */
const PROBLEM_OF: Partial<Record<Outcome, ProblemCode>> = {
  [OUTCOME.soldOut]: 'sold_out',
  [OUTCOME.ruleRefused]: 'rule_refused',
  [OUTCOME.tokenExpired]: 'token_expired',
  [OUTCOME.notFound]: 'bad_token',
  [OUTCOME.badRequest]: 'bad_token',
}

/**
 * The answer to a reply. A repeat gets the body of the first time: what the cart call did, not what became of the order
 * since (that is asked of `GET /v1/orders/{id}`).
 */
export function answerOf(reply: LedgerReply): CartAnswer {
  const { outcome, orderId, activityId, skuId, quantity, priceCents, payBy } = reply
  if (outcome !== OUTCOME.ok && outcome !== OUTCOME.repeated)
    return { kind: 'problem', code: PROBLEM_OF[outcome] ?? 'unavailable' }
  const body = { orderId, activityId, skuId, quantity, state: 'held', priceCents, payBy } as const
  return { kind: 'accepted', status: outcome === OUTCOME.ok ? 201 : 200, body }
}
