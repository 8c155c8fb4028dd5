/** The unit ledger of an activity: one Lua script per verb, batches, idempotent, an outbox entry in the same step. */

import type { Figures, PurchaseRule } from '@bigtap/domain'
import { assert, hasCode } from '@bigtap/kernel'
import type { Store } from './connection.ts'
import { Guards, metaKey, REBUILDING, rootKey } from './guards.ts'
import { Lines } from './lines.ts'
import { formatOrderRecord, type LedgerOrder, parseEventLine, parseOrderRecord } from './order-record.ts'
import { loadScript, runScript, type Script } from './script.ts'

/** Outcomes of the verbs; the numbers are those of the wire protocol. */
export const LEDGER_OUTCOME = {
  ok: 1,
  repeated: 2,
  soldOut: 3,
  ruleRefused: 4,
  tokenExpired: 5,
  notFound: 6,
  wrongState: 7,
} as const
/** One of the outcomes. */
export type LedgerOutcome = (typeof LEDGER_OUTCOME)[keyof typeof LEDGER_OUTCOME]

/** A reservation: one admission token. `expiresAt` in ms, judged by Redis' own clock. */
export interface Reservation {
  readonly tokenId: string
  readonly uid: number
  readonly skuId: number
  readonly quantity: number
  readonly expiresAt: number
}

/** The answer to one item of a batch; `order` where there is one. */
export interface LedgerReply {
  readonly outcome: LedgerOutcome
  readonly order: LedgerOrder | undefined
}

/** Settings of one SKU's ledger. */
export interface LedgerSku {
  readonly skuId: number
  readonly stock: number
  readonly overbook: number
  readonly limitPerBuyer: number
  readonly priceCents: number
  readonly holdSeconds: number
}

/** An entry of the outbox: its position and the orders that changed. */
export interface OutboxEntry {
  readonly id: string
  readonly orders: readonly LedgerOrder[]
}

/** What became of orders that a rebuild put back. */
export interface Adopted {
  readonly adopted: number
  readonly known: number
  readonly moved: number
  readonly conflicts: readonly LedgerOrder[]
}

/** What a sweep gave back. */
export interface Swept {
  readonly holds: number
  readonly tokens: number
  readonly leases: number
  /** Is there more that ran out? */
  readonly isMore: boolean
}

/** Most items in one call. */
export const LEDGER_BATCH_MAX = 128
/** A dead token's place comes back this long after its end: no token that the cart still takes is swept. */
export const TOKEN_GRACE_MS = 2_000

const GUARDED = ['prelude', 'guarded']
const SCRIPTS = {
  reserve: loadScript('reserve-1', GUARDED),
  settle: loadScript('settle-1', [...GUARDED, 'settle']),
  sweep: loadScript('sweep-1', [...GUARDED, 'settle', 'leases']),
  restock: loadScript('restock-1', GUARDED),
  open: loadScript('open-1', ['prelude']),
  beginRebuild: loadScript('begin-rebuild-1', ['prelude', 'leases']),
  adopt: loadScript('adopt-1', [...GUARDED, 'settle']),
  endRebuild: loadScript('end-rebuild-1', GUARDED),
}
const FIGURE_FIELDS = [
  'stock',
  'free',
  'held',
  'sold',
  'quota',
  'pool',
  'leased',
  'outstanding',
  'redeemed',
  'reservedTotal',
  'deadTotal',
] as const
const OUTBOX_KEPT = 10_000

/** The reserve script, for the benchmark that compares with the bare call. */
export const RESERVE_SCRIPT: Script = SCRIPTS.reserve

/** Verbs of the ledger. Faults: STALE_GUARD, LEDGER_IN_DOUBT, LEDGER_UNKNOWN, STORE_FAILED, STORE_UNAVAILABLE. */
export class Ledger {
  readonly #store: Store
  readonly guards: Guards
  /** The lines of those who wait. */
  readonly lines: Lines

  constructor(store: Store) {
    this.#store = store
    this.guards = new Guards(store)
    this.lines = new Lines(store, this.guards)
  }

  /**
   * Makes the ledger where there is none, else brings its settings up to date; returns the guard that stands.
   * `guard` is set where there is none: `REBUILDING` when orders follow before anybody may buy.
   */
  async open(
    activityId: number,
    rule: PurchaseRule,
    skus: readonly LedgerSku[],
    guard = `1:${this.#store.runId ?? ''}`,
  ): Promise<string> {
    const args = skus.flatMap((sku) => [
      sku.skuId,
      sku.stock,
      sku.overbook,
      sku.limitPerBuyer,
      sku.priceCents,
      sku.holdSeconds * 1000,
    ])
    return String(await runScript(this.#store, SCRIPTS.open, [metaKey(activityId)], [guard, rule, ...args]))
  }

  /** Reserves for up to 128 tokens in one atomic step. */
  async reserve(activityId: number, batch: readonly Reservation[]): Promise<LedgerReply[]> {
    assert(batch.length > 0 && batch.length <= LEDGER_BATCH_MAX, `batch of ${batch.length}`)
    const args: (string | number)[] = []
    for (const item of batch) args.push(item.tokenId, item.uid, item.skuId, item.quantity, item.expiresAt)
    const replies = (await this.#run(activityId, SCRIPTS.reserve, args)) as (number | string)[]
    return batch.map((item, index) => replyOf(`o${item.tokenId}`, replies, index))
  }

  /** A payment came: held → sold. */
  confirm(activityId: number, orderIds: readonly string[]): Promise<LedgerReply[]> {
    return this.#settle(activityId, 'paid', orderIds)
  }

  /** The buyer gives it back: held → free. */
  cancel(activityId: number, orderIds: readonly string[]): Promise<LedgerReply[]> {
    return this.#settle(activityId, 'cancelled', orderIds)
  }

  /** Gives back what ran out, at most `max` of each kind. */
  async sweep(activityId: number, max: number): Promise<Swept> {
    const reply = (await this.#run(activityId, SCRIPTS.sweep, [max, TOKEN_GRACE_MS])) as number[]
    const [holds = 0, tokens = 0, leases = 0, isMore] = reply
    return { holds, tokens, leases, isMore: isMore === 1 }
  }

  /** Changes the stock, once per request id; `refused` below held + sold, or below the places already given out. */
  async restock(
    activityId: number,
    skuId: number,
    change: { requestId: string; op: 'add' | 'remove' | 'set'; units: number },
  ): Promise<{ outcome: 'done' | 'repeated' | 'unknown' | 'refused'; stock: number }> {
    const args = [skuId, change.requestId, change.op, change.units]
    const [code, stock = 0] = (await this.#run(activityId, SCRIPTS.restock, args)) as number[]
    const outcome = code === 1 ? 'done' : code === 2 ? 'repeated' : code === 6 ? 'unknown' : 'refused'
    return { outcome, stock: Number(stock) }
  }

  /** Figures of every SKU that has a ledger. */
  async figures(activityId: number): Promise<Map<number, Figures>> {
    const { redis } = this.#store
    const ids = await redis.smembers(`${rootKey(activityId)}skus`)
    const rows = await Promise.all(ids.map((id) => redis.hmget(`${rootKey(activityId)}sku:${id}`, ...FIGURE_FIELDS)))
    return new Map(ids.map((id, index) => [Number(id), figuresOf(rows[index] ?? [])]))
  }

  /** One order, as the ledger has it. */
  async order(activityId: number, orderId: string): Promise<LedgerOrder | undefined> {
    const record = await this.#store.redis.hget(`${rootKey(activityId)}orders`, orderId)
    return record === null ? undefined : parseOrderRecord(orderId, record)
  }

  /** Walks through all orders; `next` is 0 at the end. */
  async scanOrders(activityId: number, cursor: number): Promise<{ next: number; orders: LedgerOrder[] }> {
    const [next, flat] = await this.#store.redis.hscan(`${rootKey(activityId)}orders`, cursor, 'COUNT', 500)
    const orders: LedgerOrder[] = []
    for (let at = 0; at < flat.length; at += 2) orders.push(parseOrderRecord(flat[at] ?? '', flat[at + 1] ?? ''))
    return { next: Number(next), orders }
  }

  /** Outbox entries after a position ('0' is the beginning). */
  async readOutbox(activityId: number, after: string, max: number): Promise<OutboxEntry[]> {
    const entries = await this.#store.redis.xrange(`${rootKey(activityId)}outbox`, `(${after}`, '+', 'COUNT', max)
    return entries.map(([id, fields]) => ({ id, orders: (fields[1] ?? '').split('\n').map(parseEventLine) }))
  }

  /** How far the outbox has been carried to the event log. */
  async outboxCursor(activityId: number): Promise<string> {
    return (await this.#store.redis.get(`${rootKey(activityId)}outbox-cursor`)) ?? '0-0'
  }

  /** Notes how far it has been carried. The last 10,000 carried entries stay; one that was not carried is never trimmed. */
  async ackOutbox(activityId: number, id: string): Promise<void> {
    const { redis } = this.#store
    const key = `${rootKey(activityId)}outbox`
    await redis.set(`${rootKey(activityId)}outbox-cursor`, id)
    const surplus = (await redis.xlen(key)) - OUTBOX_KEPT
    if (surplus > 0) await redis.xtrim(key, 'MINID', '~', id, 'LIMIT', surplus)
  }

  /** Rebuild: closes the ledger to all verbs but `open` and `adopt`, and ends all leases; tells how it stood before. */
  async beginRebuild(activityId: number): Promise<{ epoch: number; seq: number; guard: string }> {
    const reply = await runScript(this.#store, SCRIPTS.beginRebuild, [metaKey(activityId)], [])
    this.guards.forget(activityId)
    const [epoch, seq, guard = ''] = (reply as string[]).map(String)
    return { epoch: Number(epoch) || Number(guard.split(':')[0]) || 0, seq: Number(seq), guard }
  }

  /**
   * Rebuild: puts orders back; `emits` also tells the outbox. A conflict has no unit left, or no product.
   * Safe to repeat: what is known stays.
   */
  async adopt(activityId: number, orders: readonly LedgerOrder[], emits: boolean): Promise<Adopted> {
    const args = orders.flatMap((order) => [order.orderId, formatOrderRecord(order)])
    const replies = (await runScript(
      this.#store,
      SCRIPTS.adopt,
      [metaKey(activityId)],
      [REBUILDING, emits ? 1 : 0, ...args],
    )) as number[]
    const count = (code: number) => replies.filter((reply) => Number(reply) === code).length
    const conflicts = orders.filter((_, index) => Number(replies[index]) === 0)
    return { adopted: count(1), known: count(2), moved: count(3), conflicts }
  }

  /** Rebuild: opens the ledger under a new guard, `epoch:run id`; STALE_GUARD when it was emptied meanwhile. */
  async endRebuild(
    activityId: number,
    epoch: number,
    { runId = this.#store.runId ?? '', seqAtLeast = 0 }: { runId?: string; seqAtLeast?: number } = {},
  ): Promise<string> {
    const guard = `${epoch}:${runId}`
    const args = [REBUILDING, guard, epoch, seqAtLeast]
    await runScript(this.#store, SCRIPTS.endRebuild, [metaKey(activityId)], args)
    this.guards.forget(activityId)
    return guard
  }

  /** The number of the last order. */
  async lastSeq(activityId: number): Promise<number> {
    return Number((await this.#store.redis.hget(metaKey(activityId), 'seq')) ?? 0)
  }

  async #settle(activityId: number, state: 'paid' | 'cancelled', orderIds: readonly string[]): Promise<LedgerReply[]> {
    assert(orderIds.length > 0 && orderIds.length <= LEDGER_BATCH_MAX, `batch of ${orderIds.length}`)
    const replies = (await this.#run(activityId, SCRIPTS.settle, [state, ...orderIds])) as (number | string)[]
    return orderIds.map((orderId, index) => replyOf(orderId, replies, index))
  }

  async #run(activityId: number, script: Script, args: readonly (string | number)[]): Promise<unknown> {
    const guard = await this.guards.get(activityId)
    try {
      return await runScript(this.#store, script, [metaKey(activityId)], [guard, ...args])
    } catch (error) {
      if (hasCode(error, 'STALE_GUARD')) this.guards.forget(activityId)
      throw error
    }
  }
}

function replyOf(orderId: string, replies: readonly (number | string)[], index: number): LedgerReply {
  const record = String(replies[index * 2 + 1] ?? '')
  return {
    outcome: Number(replies[index * 2]) as LedgerOutcome,
    order: record === '' ? undefined : parseOrderRecord(orderId, record),
  }
}

/** Figures from the fields of a SKU's hash, in the order of the script's own list. */
export function figuresOf(values: readonly (string | number | null)[]): Figures {
  const at = (index: number) => Number(values[index] ?? 0)
  return {
    stock: at(0),
    free: at(1),
    held: at(2),
    sold: at(3),
    quota: at(4),
    pool: at(5),
    leased: at(6),
    outstanding: at(7),
    redeemed: at(8),
    reservedTotal: at(9),
    deadTotal: at(10),
  }
}
