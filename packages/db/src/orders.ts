import type { OrderState } from '@bigtap/domain'
import type { Pool } from 'pg'
import { guarded } from './errors.ts'
import type { Order, PrismaClient } from './generated/client.ts'
import { toNumber } from './numbers.ts'

/** States that a stored order can have: `accepted` is one that is not stored yet. */
export type StoredOrderState = Exclude<OrderState, 'accepted'>

/** An order as it is stored; times in ms since the epoch. */
export interface OrderRow {
  readonly orderId: string
  readonly tokenId: string
  readonly activityId: number
  readonly skuId: number
  readonly uid: number
  readonly quantity: number
  readonly priceCents: number
  readonly currency: string
  readonly state: StoredOrderState
  /** Counts up with each event of the order, from 1. */
  readonly version: number
  /** Place of the newest event in the activity's outbox. */
  readonly seq: number
  readonly createdAt: number
  readonly payBy: number
  readonly updatedAt: number
}

/** How much of something is in each state. */
export interface StateCounts {
  readonly held: number
  readonly paid: number
  readonly expired: number
  readonly cancelled: number
  readonly refundPending: number
  readonly refunded: number
}

/** Orders of one SKU by state, and the units in them. */
export interface SkuCounts extends StateCounts {
  readonly skuId: number
  /** All orders of the SKU. */
  readonly orders: number
  readonly units: StateCounts
}

/** What else must be true for a change of state. */
export interface StateChange {
  readonly from: readonly StoredOrderState[]
  readonly to: StoredOrderState
  /** Change only this version. */
  readonly version?: number
}

/** The table of orders. */
export interface Orders {
  /**
   * Stores rows, each only where it is newer than what is stored; returns how many were new or newer. Rows of one order may
   * stand in one call. Done in statements of up to 1,000 rows: after a failure some may be stored, and a repeat is harmless.
   */
  upsertMany(rows: readonly OrderRow[]): Promise<number>
  get(orderId: string): Promise<OrderRow | undefined>
  /** A buyer's orders, newest first. */
  listByUid(uid: number, options?: { limit?: number }): Promise<OrderRow[]>
  /** A page of an activity's orders by order id; the next one starts after the last id of this one. */
  listByActivity(activityId: number, options?: { after?: string; limit?: number }): Promise<OrderRow[]>
  /** Orders in a state, those that are in it longest first. */
  listByState(state: StoredOrderState, options?: { limit?: number }): Promise<OrderRow[]>
  countsBySku(activityId: number): Promise<SkuCounts[]>
  /** Moves an order on and counts its version up; undefined when it is not there or not in one of the states. */
  setState(orderId: string, change: StateChange): Promise<OrderRow | undefined>
  /** The highest outbox place that is stored, 0 when there is none. */
  maxSeq(activityId: number): Promise<number>
  /** The newest outbox place of each order, in order. */
  seqs(activityId: number): Promise<number[]>
}

/** Rows of one statement: 1,000 rows are about 300 KB of JSON and take some 15 ms. */
const UPSERT_ROWS_MAX = 1_000
/** Most rows of one page. */
const PAGE_MAX = 5_000
const PAGE = 100

// One parameter for the whole batch. Prisma has no upsert of many rows with a guard, so this one statement is our own.
const UPSERT = `
INSERT INTO orders AS stored (order_id, token_id, activity_id, sku_id, uid, quantity, price_cents, currency, state, version,
  seq, created_at, pay_by, updated_at)
SELECT * FROM json_to_recordset($1::json) AS given("orderId" text, "tokenId" text, "activityId" int, "skuId" int, "uid" bigint,
  "quantity" int, "priceCents" int, "currency" text, "state" text, "version" int, "seq" bigint, "createdAt" bigint,
  "payBy" bigint, "updatedAt" bigint)
ON CONFLICT (order_id) DO UPDATE SET state = excluded.state, version = excluded.version, seq = excluded.seq,
  pay_by = excluded.pay_by, updated_at = excluded.updated_at, created_at = LEAST(stored.created_at, excluded.created_at)
WHERE stored.version < excluded.version`

const COUNTS = `
SELECT sku_id AS "skuId", state, count(*) AS orders, sum(quantity) AS units FROM orders WHERE activity_id = $1
GROUP BY sku_id, state ORDER BY sku_id`

/** The repository of orders. */
export function createOrders(pool: Pool, prisma: PrismaClient, now: () => number): Orders {
  const list = async (what: string, query: Parameters<typeof prisma.order.findMany>[0]) =>
    (await guarded(what, () => prisma.order.findMany(query))).map(toRow)
  return {
    async upsertMany(rows) {
      const newest = newestById(rows)
      let stored = 0
      for (let start = 0; start < newest.length; start += UPSERT_ROWS_MAX) {
        const text = JSON.stringify(newest.slice(start, start + UPSERT_ROWS_MAX))
        const query = { name: 'orders-upsert', text: UPSERT, values: [text] }
        stored += (await guarded('storing orders', () => pool.query(query))).rowCount ?? 0
      }
      return stored
    },
    async get(orderId) {
      const row = await guarded('reading an order', () => prisma.order.findUnique({ where: { orderId } }))
      return row ? toRow(row) : undefined
    },
    listByUid: (uid, { limit = PAGE } = {}) =>
      list('listing orders of a buyer', { where: { uid }, orderBy: { createdAt: 'desc' }, take: page(limit) }),
    listByActivity: (activityId, { after = '', limit = PAGE_MAX } = {}) =>
      list('listing orders of an activity', {
        where: { activityId, orderId: { gt: after } },
        orderBy: { orderId: 'asc' },
        take: page(limit),
      }),
    listByState: (state, { limit = PAGE } = {}) =>
      list('listing orders by state', { where: { state }, orderBy: { updatedAt: 'asc' }, take: page(limit) }),
    async countsBySku(activityId) {
      return collect((await guarded('counting orders', () => pool.query<CountRow>(COUNTS, [activityId]))).rows)
    },
    async setState(orderId, { from, to, version }) {
      const where = { orderId, state: { in: [...from] }, ...(version === undefined ? {} : { version }) }
      const data = { state: to, version: { increment: 1 }, updatedAt: now() }
      const rows = await guarded('changing an order', () => prisma.order.updateManyAndReturn({ where, data }))
      return rows.map(toRow).at(0)
    },
    async maxSeq(activityId) {
      const query = { where: { activityId }, _max: { seq: true } } as const
      const { _max } = await guarded('reading the last place', () => prisma.order.aggregate(query))
      return toNumber(_max.seq ?? 0)
    },
    async seqs(activityId) {
      const query = { where: { activityId }, orderBy: { seq: 'asc' }, select: { seq: true } } as const
      return (await guarded('reading places', () => prisma.order.findMany(query))).map((row) => toNumber(row.seq))
    },
  }
}

/** One row per order, by order id: statements that run side by side then lock in one order and cannot block each other. */
function newestById(rows: readonly OrderRow[]): OrderRow[] {
  const newest = new Map<string, OrderRow>()
  for (const row of rows) {
    const known = newest.get(row.orderId)
    if (!known || known.version < row.version) newest.set(row.orderId, row)
  }
  return [...newest.values()].sort((a, b) => (a.orderId < b.orderId ? -1 : 1))
}

interface CountRow {
  readonly skuId: number
  readonly state: StoredOrderState
  readonly orders: string
  readonly units: string
}

function collect(rows: readonly CountRow[]): SkuCounts[] {
  const skuIds = [...new Set(rows.map((row) => row.skuId))]
  return skuIds.map((skuId) => {
    const group = rows.filter((row) => row.skuId === skuId)
    const orders = group.reduce((sum, row) => sum + toNumber(row.orders), 0)
    return { skuId, orders, ...byState(group, 'orders'), units: byState(group, 'units') }
  })
}

function byState(rows: readonly CountRow[], field: 'orders' | 'units'): StateCounts {
  const of = (state: StoredOrderState) => toNumber(rows.find((row) => row.state === state)?.[field] ?? 0)
  return {
    held: of('held'),
    paid: of('paid'),
    expired: of('expired'),
    cancelled: of('cancelled'),
    refundPending: of('refund_pending'),
    refunded: of('refunded'),
  }
}

function toRow(row: Order): OrderRow {
  return {
    ...row,
    state: row.state as StoredOrderState, // a check of the table
    uid: toNumber(row.uid),
    seq: toNumber(row.seq),
    createdAt: toNumber(row.createdAt),
    payBy: toNumber(row.payBy),
    updatedAt: toNumber(row.updatedAt),
  }
}

function page(limit: number): number {
  return Math.min(Math.max(1, Math.floor(limit)), PAGE_MAX)
}
