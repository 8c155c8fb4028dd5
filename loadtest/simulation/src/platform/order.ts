/** The order service but for its HTTP: intake, payments, cancel, reconciliation, refunds. */

import { LedgerView } from '@bigtap/order/ledger-view'
import { OrderDesk } from '@bigtap/order/order-desk'
import { createIntake } from '@bigtap/order/order-intake'
import { PaymentDesk } from '@bigtap/order/payment-desk'
import { Reconciler } from '@bigtap/order/reconciler'
import { refundRound } from '@bigtap/order/refunder'
import { OUTCOME } from '@bigtap/protocol'
import { Ledger } from '@bigtap/store'
import { LedgerClient } from '@bigtap/transport'
import { COUNTER_ID, LEDGER_CALLS } from './cart.ts'
import { type Front, makeFront } from './front.ts'
import { addressOf, contextOf, REDIS_MS, type Site } from './site.ts'

const RECONCILE_MS = 2_000
const REFUND_MS = 500

/** What a payment attempt or a cancel came to. */
export type OrderAnswer = 'done' | 'refused' | 'unavailable'

/** The order service and the doors that buyers and the payment provider come to. */
export interface OrderFront extends Front {
  /** Starts a payment: the provider will call back. */
  pay(orderId: string, uid: number, answer: (answer: OrderAnswer, paymentId: string) => void): void
  callback(
    event: { eventId: string; paymentId: string; orderId: string; amountCents: number },
    answer: (result: string | undefined) => void,
  ): void
  cancel(orderId: string, uid: number, answer: (answer: OrderAnswer) => void): void
}

/** Starts an order service. */
export function startOrder(site: Site, id: string): OrderFront {
  const { world, redis, record, eventLog } = site
  const process = world.spawn(id, 'order')
  const context = contextOf(site, process)
  const { clock, logger } = context
  const now = () => clock.now()
  const store = redis.connect(process, REDIS_MS)
  const ledger = new Ledger(store)
  const front = makeFront(process, store, context)
  const { mirror } = front
  const db = record.connect(process)
  const counter = new LedgerClient(
    { ...LEDGER_CALLS, nodeId: id, role: 'order', address: addressOf(COUNTER_ID) },
    context,
  )
  const ledgers = new LedgerView({ ledger, store, mirror })
  const desk = new OrderDesk({ db, ledgers })
  const quiet = { onAlert: () => undefined, onResult: () => undefined }
  const payments = new PaymentDesk({ db, counter, ledgers, desk, logger, now, ...quiet })
  const reconciler = new Reconciler({ db, ledgers, logger, now })
  const intake = createIntake({
    db,
    logger,
    onStored: () => undefined,
    onDeadLetter: () => world.violate('a dead letter'),
  })
  const every = (ms: number, work: () => Promise<unknown>) => setInterval(() => void work().catch(() => undefined), ms)
  world.runIn(process, () => {
    front.start()
    counter.start()
    eventLog.consume(process, intake)
    every(RECONCILE_MS, () => reconciler.round())
    every(REFUND_MS, () => refundRound(db, { now: now(), afterMs: REFUND_MS }))
  })
  return { process, mirror, ...doorsOf({ db, counter, desk, payments, now }) }
}

interface Doors {
  readonly db: ReturnType<Site['record']['connect']>
  readonly counter: LedgerClient
  readonly desk: OrderDesk
  readonly payments: PaymentDesk
  now(): number
}

/** What the routes do between request and answer. */
function doorsOf({ db, counter, desk, payments, now }: Doors): Omit<OrderFront, keyof Front> {
  const pay = async (orderId: string, uid: number): Promise<[OrderAnswer, string]> => {
    const order = await desk.find(orderId, uid)
    const paymentId = `p${orderId}`
    const isPayable = order?.state === 'held' || order?.state === 'accepted'
    if (order === undefined || !isPayable || order.row.payBy <= now()) return ['refused', paymentId]
    await db.payments.create({ paymentId, orderId, amountCents: order.row.priceCents * order.row.quantity })
    return ['done', paymentId]
  }
  const cancel = async (orderId: string, uid: number): Promise<OrderAnswer> => {
    const order = await desk.find(orderId, uid)
    if (order === undefined) return 'refused'
    const { outcome } = await counter.cancel(order.row.activityId, orderId)
    return outcome === OUTCOME.ok || outcome === OUTCOME.repeated ? 'done' : 'refused'
  }
  return {
    pay: (orderId, uid, answer) =>
      void pay(orderId, uid).then(
        (result) => answer(...result),
        () => answer('unavailable', ''),
      ),
    callback: (event, answer) =>
      void payments.onCallback({ ...event, type: 'paid' }).then(answer, () => answer(undefined)),
    cancel: (orderId, uid, answer) => void cancel(orderId, uid).then(answer, () => answer('unavailable')),
  }
}
