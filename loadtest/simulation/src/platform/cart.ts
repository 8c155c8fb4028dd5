/** The cart: token in, order or problem out. Its core and its ledger client are the product's; its HTTP is left out. */

import { admit, answerOf, type CartAnswer } from '@bigtap/cart/core/cart'
import { isLayerShut } from '@bigtap/domain'
import { verifyAdmission } from '@bigtap/token'
import { LedgerClient } from '@bigtap/transport'
import { type Front, makeFront } from './front.ts'
import { addressOf, contextOf, REDIS_MS, type Site } from './site.ts'

/** Where both cart and order find the counter. */
export const COUNTER_ID = 'counter-1'
/** How services call the ledger. */
export const LEDGER_CALLS = { deadlineMs: 100, callsMax: 512, mergeMax: 128, clusterSecret: 'simulation' }

/** The cart and the door that buyers come to. */
export interface CartFront extends Front {
  buy(token: string, uid: number, answer: (answer: CartAnswer) => void): void
}

/** Starts a cart. */
export function startCart(site: Site, id: string): CartFront {
  const { world, redis, ring } = site
  const process = world.spawn(id, 'cart')
  const context = contextOf(site, process)
  const store = redis.connect(process, REDIS_MS)
  const front = makeFront(process, store, context)
  const { mirror } = front
  const settings = { ...LEDGER_CALLS, nodeId: id, role: 'cart', address: addressOf(COUNTER_ID) }
  const ledger = new LedgerClient(settings, context)
  world.runIn(process, () => {
    front.start()
    ledger.start()
  })
  const isShut = (activityId: number) => isLayerShut(mirror.activity(activityId), 'cart')
  const buy = (token: string, uid: number, answer: (answer: CartAnswer) => void) => {
    const admission = admit(verifyAdmission(ring, token, process.clock.now()), { uid, isShut })
    if (admission.kind === 'refused') return answer({ kind: 'problem', code: admission.code })
    ledger.reserve(admission.claims).then(
      (reply) => answer(answerOf(reply)),
      () => answer({ kind: 'problem', code: 'unavailable' }),
    )
  }
  return { process, mirror, buy }
}
