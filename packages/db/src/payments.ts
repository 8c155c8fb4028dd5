import { guarded } from './errors.ts'
import type { Payment, PaymentEvent, PrismaClient } from './generated/client.ts'
import { toNumber } from './numbers.ts'

/** Where a payment stands. */
export type PaymentState = 'created' | 'paid' | 'failed' | 'refunded'

/** A payment that was started; times in ms since the epoch. */
export interface PaymentRow {
  readonly paymentId: string
  readonly orderId: string
  readonly amountCents: number
  readonly state: PaymentState
  readonly createdAt: number
  readonly updatedAt: number
}

/** A callback of the provider. */
export interface PaymentEventRow {
  readonly eventId: string
  readonly paymentId: string
  readonly orderId: string
  readonly type: string
  readonly amountCents: number
}

/** `first`: this call stored the event. `result` is what an earlier one led to, null while that is not known. */
export interface EventReceipt {
  readonly outcome: 'first' | 'seen'
  readonly result: string | null
  /** The event as it was stored first. */
  readonly event: PaymentEventRow
}

/** Payments and the provider's callbacks. */
export interface Payments {
  /** Stores a payment; one of the same id stays as it is and is returned. */
  create(payment: { paymentId: string; orderId: string; amountCents: number }): Promise<PaymentRow>
  get(paymentId: string): Promise<PaymentRow | undefined>
  /** Payments of an order, the oldest first. */
  listByOrder(orderId: string): Promise<PaymentRow[]>
  /** Moves a payment on; false when it is not there or in none of the states. */
  setState(paymentId: string, from: readonly PaymentState[], to: PaymentState): Promise<boolean>
  /**
   * Stores an event once, however often and from wherever it comes. Its effect must be idempotent, and be noted by
   * `settleEvent`: an event that was seen but has no result had its handler die on the way.
   */
  recordEvent(event: PaymentEventRow): Promise<EventReceipt>
  /** Notes what an event led to; the first result stays. Returns the one that counts. */
  settleEvent(eventId: string, result: string): Promise<string | null>
}

const PAYMENTS_PER_ORDER_MAX = 100

/** The repository of payments. */
export function createPayments(prisma: PrismaClient, now: () => number): Payments {
  return {
    async create({ paymentId, orderId, amountCents }) {
      const row = { paymentId, orderId, amountCents, state: 'created', createdAt: now(), updatedAt: now() } as const
      return guarded('storing a payment', async () => {
        const { count } = await prisma.payment.createMany({ data: [row], skipDuplicates: true })
        if (count > 0) return row
        return toPayment(await prisma.payment.findUniqueOrThrow({ where: { paymentId } }))
      })
    },
    async get(paymentId) {
      const row = await guarded('reading a payment', () => prisma.payment.findUnique({ where: { paymentId } }))
      return row ? toPayment(row) : undefined
    },
    async listByOrder(orderId) {
      const query = { where: { orderId }, orderBy: { createdAt: 'asc' }, take: PAYMENTS_PER_ORDER_MAX } as const
      return (await guarded('listing payments', () => prisma.payment.findMany(query))).map(toPayment)
    },
    async setState(paymentId, from, to) {
      const where = { paymentId, state: { in: [...from] } }
      const data = { state: to, updatedAt: now() }
      return (await guarded('changing a payment', () => prisma.payment.updateMany({ where, data }))).count > 0
    },
    async recordEvent(event) {
      const { eventId, paymentId, orderId, type, amountCents } = event
      const row = { eventId, paymentId, orderId, type, amountCents, receivedAt: now() }
      return guarded('storing a payment event', async () => {
        const { count } = await prisma.paymentEvent.createMany({ data: [row], skipDuplicates: true })
        if (count > 0) return { outcome: 'first', result: null, event: { ...event } }
        const stored = await prisma.paymentEvent.findUniqueOrThrow({ where: { eventId } })
        return { outcome: 'seen', result: stored.result, event: toEvent(stored) }
      })
    },
    async settleEvent(eventId, result) {
      return guarded('settling a payment event', async () => {
        const { count } = await prisma.paymentEvent.updateMany({ where: { eventId, result: null }, data: { result } })
        if (count > 0) return result
        return (await prisma.paymentEvent.findUnique({ where: { eventId } }))?.result ?? null
      })
    },
  }
}

function toPayment(row: Payment): PaymentRow {
  return {
    ...row,
    state: row.state as PaymentState, // a check of the table
    amountCents: toNumber(row.amountCents),
    createdAt: toNumber(row.createdAt),
    updatedAt: toNumber(row.updatedAt),
  }
}

function toEvent({ eventId, paymentId, orderId, type, amountCents }: PaymentEvent): PaymentEventRow {
  return { eventId, paymentId, orderId, type, amountCents: toNumber(amountCents) }
}
