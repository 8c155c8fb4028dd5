/** PostgreSQL as the services see it: orders guarded by version, payments, events that count once. */

import {
  type Db,
  DbError,
  type EventReceipt,
  type OrderRow,
  type PaymentEventRow,
  type PaymentRow,
  type PaymentState,
  type SkuCounts,
  type StateCounts,
} from '@bigtap/db'
import type { ActivityDoc, SkuDoc, SlotTableDoc } from '@bigtap/domain'
import type { SimProcess } from '../world/process.ts'
import type { RemoteServer } from '../world/remote.ts'

const STATEMENT_MS = 300
const NO_COUNTS: StateCounts = { held: 0, paid: 0, expired: 0, cancelled: 0, refundPending: 0, refunded: 0 }

/** What is stored; it never forgets. */
export class RecordHost {
  readonly orders = new Map<string, OrderRow>()
  readonly payments = new Map<string, PaymentRow>()
  readonly events = new Map<string, PaymentEventRow & { result: string | null }>()
  activity: ActivityDoc
  /** The newest slot table that a master has kept. */
  slots: SlotTableDoc | undefined
  readonly skus: readonly SkuDoc[]
  readonly server: RemoteServer
  readonly #now: () => number

  constructor(sale: { activity: ActivityDoc; skus: readonly SkuDoc[] }, server: RemoteServer, now: () => number) {
    this.activity = sale.activity
    this.skus = sale.skus
    this.server = server
    this.#now = now
  }

  /** The repositories that the services use, over the network. */
  connect(process: SimProcess): Db {
    const fault = () => new DbError({ code: 'DB_UNAVAILABLE', message: 'the database is away' })
    const call = <T>(work: () => T) => this.server.call(process, work, { msMax: STATEMENT_MS, fault })
    const orders = {
      upsertMany: (rows: readonly OrderRow[]) => call(() => this.#upsert(rows)),
      get: (orderId: string) => call(() => this.orders.get(orderId)),
      listByActivity: (activityId: number, { after = '', limit = 500 } = {}) =>
        call(() => this.#sorted((row) => row.activityId === activityId && row.orderId > after).slice(0, limit)),
      listByState: (state: string, { limit = 100 } = {}) =>
        call(() => this.#sorted((row) => row.state === state).slice(0, limit)),
      countsBySku: (activityId: number) => call(() => this.countsBySku(activityId)),
      setState: (orderId: string, change: { from: readonly string[]; to: OrderRow['state']; version?: number }) =>
        call(() => this.#setState(orderId, change)),
    }
    const payments = {
      create: (payment: Omit<PaymentRow, 'state' | 'createdAt' | 'updatedAt'>) =>
        call(() => this.#createPayment(payment)),
      get: (paymentId: string) => call(() => this.payments.get(paymentId)),
      listByOrder: (orderId: string) =>
        call(() => [...this.payments.values()].filter((one) => one.orderId === orderId)),
      setState: (paymentId: string, from: readonly PaymentState[], to: PaymentState) =>
        call(() => this.#setPayment(paymentId, from, to)),
      recordEvent: (event: PaymentEventRow) => call(() => this.#recordEvent(event)),
      settleEvent: (eventId: string, result: string) => call(() => this.#settleEvent(eventId, result)),
    }
    const definitions = {
      getActivity: () => call(() => this.activity),
      listSkus: () => call(() => this.skus),
      setActivityState: (_id: number, from: readonly string[], to: ActivityDoc['state']) =>
        call(() => {
          if (from.includes(this.activity.state)) this.activity = { ...this.activity, state: to }
        }),
    }
    const deadLetters = { add: () => call(() => undefined) }
    return { orders, payments, definitions, deadLetters } as unknown as Db
  }

  countsBySku(activityId: number): SkuCounts[] {
    const counts = new Map<number, { orders: number; by: Record<string, number>; units: Record<string, number> }>()
    for (const row of this.orders.values()) {
      if (row.activityId !== activityId) continue
      const own = counts.get(row.skuId) ?? { orders: 0, by: { ...NO_COUNTS }, units: { ...NO_COUNTS } }
      counts.set(row.skuId, own)
      const state = row.state === 'refund_pending' ? 'refundPending' : row.state
      own.orders++
      own.by[state] = (own.by[state] ?? 0) + 1
      own.units[state] = (own.units[state] ?? 0) + row.quantity
    }
    return [...counts].map(
      ([skuId, { orders, by, units }]) => ({ skuId, orders, ...by, units }) as unknown as SkuCounts,
    )
  }

  #upsert(rows: readonly OrderRow[]): number {
    let stored = 0
    for (const row of rows) {
      const known = this.orders.get(row.orderId)
      if (known !== undefined && known.version >= row.version) continue
      const createdAt = Math.min(row.createdAt, known?.createdAt ?? row.createdAt)
      this.orders.set(row.orderId, { ...row, createdAt })
      stored++
    }
    return stored
  }

  #sorted(isMeant: (row: OrderRow) => boolean): OrderRow[] {
    return [...this.orders.values()].filter(isMeant).sort((a, b) => (a.orderId < b.orderId ? -1 : 1))
  }

  #setState(
    orderId: string,
    { from, to, version }: { from: readonly string[]; to: OrderRow['state']; version?: number },
  ): OrderRow | undefined {
    const row = this.orders.get(orderId)
    if (row === undefined || !from.includes(row.state) || (version ?? row.version) !== row.version) return undefined
    const next = { ...row, state: to, version: row.version + 1, updatedAt: this.#now() }
    this.orders.set(orderId, next)
    return next
  }

  #createPayment(payment: Omit<PaymentRow, 'state' | 'createdAt' | 'updatedAt'>): PaymentRow {
    const known = this.payments.get(payment.paymentId)
    const row = known ?? { ...payment, state: 'created' as const, createdAt: this.#now(), updatedAt: this.#now() }
    this.payments.set(row.paymentId, row)
    return row
  }

  #setPayment(paymentId: string, from: readonly PaymentState[], to: PaymentState): boolean {
    const row = this.payments.get(paymentId)
    if (row === undefined || !from.includes(row.state)) return false
    this.payments.set(paymentId, { ...row, state: to, updatedAt: this.#now() })
    return true
  }

  #recordEvent(event: PaymentEventRow): EventReceipt {
    const known = this.events.get(event.eventId)
    const stored = known ?? { ...event, result: null }
    this.events.set(event.eventId, stored)
    const { result, ...row } = stored
    return { outcome: known === undefined ? 'first' : 'seen', result, event: row }
  }

  #settleEvent(eventId: string, result: string): string | null {
    const event = this.events.get(eventId)
    if (event !== undefined && event.result === null) event.result = result
    return event?.result ?? null
  }
}
