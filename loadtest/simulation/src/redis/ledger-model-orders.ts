/** The ledger's scripts about orders, as packages/store/scripts/*.lua have them. */

import { CODE, type ScriptCall, type SkuRow } from './script-call.ts'

interface Item {
  readonly token: string
  readonly uid: string
  readonly id: string
  readonly quantity: number
  readonly expiresAt: number
}

/** scripts/reserve-1.lua */
export function reserve(call: ScriptCall): unknown[] {
  call.checkGuard()
  const { keys, now } = call
  const rule = keys.hget(call.meta, 'rule')
  let seq = Number(keys.hget(call.meta, 'seq') ?? 0)
  const replies: unknown[] = []
  const events: string[] = []
  const holds = new Map<string, string[]>()
  for (let at = 1; at < call.args.length; at += 5) {
    const item = itemAt(call, at)
    const orderId = `o${item.token}`
    const seen = keys.hget(call.key('orders'), orderId)
    const outcome = judge(call, item, rule, seen)
    const row = call.sku(item.id)
    if (outcome !== CODE.ok || row === undefined) {
      replies.push(outcome, seen ?? '')
      continue
    }
    seq++
    take(call, item, row, rule)
    const payBy = now + row.holdMs
    const record = ['held', item.id, item.uid, item.quantity, row.price, 1, seq, now, payBy, now].join('|')
    keys.hset(call.key('orders'), orderId, record)
    holds.set(item.id, [...(holds.get(item.id) ?? []), orderId])
    events.push(`${orderId}|${record}`)
    replies.push(CODE.ok, record)
  }
  if (events.length === 0) return replies
  if (rule === 'one-product-per-activity') noteAll(call)
  for (const [id, own] of holds) keys.zadd(call.key('holds'), now + (call.sku(id)?.holdMs ?? 0), own.join(','))
  keys.hset(call.meta, 'seq', String(seq))
  call.saveSkus()
  call.emit(events)
  return replies
}

function itemAt(call: ScriptCall, at: number): Item {
  const [token, uid, id] = [call.arg(at), call.arg(at + 1), call.arg(at + 2)]
  return { token, uid, id, quantity: call.number(at + 3), expiresAt: call.number(at + 4) }
}

const memberOf = ({ token, id, quantity }: Item) => `${token}|${id}|${quantity}`

function judge(call: ScriptCall, item: Item, rule: string | null, seen: string | null): number {
  const { keys, now, omit } = call
  const { uid, id, quantity, expiresAt } = item
  const row = call.sku(id)
  const own = Number(keys.hget(call.key('buyers'), `${uid}:${id}`) ?? 0)
  const all = Number(keys.hget(call.key('buyers'), uid) ?? 0)
  if (seen !== null && !omit.idempotency) return CODE.repeated
  if (row === undefined) return CODE.notFound
  if (expiresAt < now) return CODE.expired
  if (quantity > row.limit) return CODE.rule
  if (rule !== 'unlimited' && own + quantity > row.limit && !(seen !== null && omit.idempotency)) return CODE.rule
  if (rule === 'one-product-per-activity' && all > own) return CODE.rule
  if (row.free < quantity) return CODE.soldOut
  const isRegistered = keys.zscore(call.key('tokens'), memberOf(item)) !== undefined
  return !isRegistered && row.pool < quantity ? CODE.soldOut : CODE.ok
}

function take(call: ScriptCall, item: Item, row: SkuRow, rule: string | null): void {
  const { keys } = call
  const { uid, id, quantity } = item
  if (keys.zrem(call.key('tokens'), memberOf(item))) row.outstanding -= quantity
  else row.pool -= quantity
  row.redeemed += quantity
  row.free -= quantity
  row.held += quantity
  row.reservedTotal += 1
  row.isChanged = true
  keys.hincrby(call.key('buyers'), `${uid}:${id}`, quantity)
  if (rule === 'one-product-per-activity') keys.hincrby(call.key('buyers'), uid, quantity)
}

/** The script writes what each buyer of the batch has in all, also where that is nothing. */
function noteAll(call: ScriptCall): void {
  const buyers = call.key('buyers')
  for (let at = 1; at < call.args.length; at += 5)
    call.keys.hset(buyers, call.arg(at + 1), call.keys.hget(buyers, call.arg(at + 1)) ?? '0')
}

/** scripts/settle-1.lua */
export function settle(call: ScriptCall): unknown[] {
  call.checkGuard()
  const replies: unknown[] = []
  const events: string[] = []
  for (const orderId of call.args.slice(2)) {
    const { code, record, event } = call.settle(orderId, call.arg(1))
    replies.push(code, record)
    if (event !== undefined) events.push(event)
  }
  call.saveSkus()
  call.emit(events)
  return replies
}

/** scripts/sweep-1.lua */
export function sweep(call: ScriptCall): unknown[] {
  call.checkGuard()
  const { keys, now } = call
  const max = call.number(1)
  const events: string[] = []
  const looked = sweepHolds(call, max, events)
  const tokens = keys.zrange(call.key('tokens'), { max: now - call.number(2), limit: max })
  for (const member of tokens) {
    const [, id = '', quantity] = member.split('|')
    const row = call.sku(id)
    keys.zrem(call.key('tokens'), member)
    if (row === undefined) continue
    row.outstanding -= Number(quantity)
    row.pool += Number(quantity)
    row.deadTotal += 1
    row.isChanged = true
  }
  const leases = keys.zrange(call.key('leases'), { max: now, limit: max })
  for (const holder of leases) call.giveBackLease(holder)
  call.saveSkus()
  call.emit(events)
  const isMore = looked >= max || tokens.length === max || leases.length === max
  return [events.length, tokens.length, leases.length, isMore ? 1 : 0]
}

function sweepHolds(call: ScriptCall, max: number, events: string[]): number {
  let looked = 0
  for (const entry of call.keys.zrange(call.key('holds'), { max: call.now, limit: max })) {
    if (looked >= max) break
    for (const orderId of entry.split(',')) {
      looked++
      const { event } = call.settle(orderId, 'expired')
      if (event !== undefined) events.push(event)
    }
    call.keys.zrem(call.key('holds'), entry)
  }
  return looked
}

/** scripts/restock-1.lua */
export function restock(call: ScriptCall): unknown[] {
  call.checkGuard()
  const { keys } = call
  const row = call.sku(call.arg(1))
  if (row === undefined) return [6, 0]
  const seen = keys.hget(call.key('restocks'), call.arg(2))
  if (seen !== null) return [2, Number(seen)]
  const units = call.number(4)
  const op = call.arg(3)
  const target = op === 'add' ? row.stock + units : op === 'remove' ? row.stock - units : units
  const change = target - row.stock
  if (row.free + change < 0) return [9, row.stock]
  const quota = quotaOf(target, keys.hget(call.key(`sku:${call.arg(1)}`), 'overbook') ?? '1')
  if (row.pool + quota - row.quota < 0) return [9, row.stock]
  row.pool += quota - row.quota
  row.quota = quota
  row.stock = target
  row.free += change
  row.isChanged = true
  call.saveSkus()
  keys.hset(call.key('restocks'), call.arg(2), String(target))
  return [1, target]
}

function quotaOf(stock: number, overbook: string): number {
  return Math.floor(stock * Number(overbook) + 0.000001)
}

/** scripts/open-1.lua */
export function open(call: ScriptCall): unknown {
  const { keys } = call
  if (call.guard === null) keys.hset(call.meta, 'guard', call.arg(0), 'seq', '0')
  keys.hset(call.meta, 'rule', call.arg(1))
  for (let at = 2; at < call.args.length; at += 6) {
    const [id, stock, overbook] = [call.arg(at), call.arg(at + 1), call.arg(at + 2)]
    const key = call.key(`sku:${id}`)
    const settings = { overbook, limit: call.arg(at + 3), price: call.arg(at + 4), holdMs: call.arg(at + 5) }
    keys.hset(key, ...Object.entries(settings).flat())
    if (keys.hget(key, 'stock') !== null) continue
    const quota = String(quotaOf(Number(stock), overbook))
    const counts = { stock, free: stock, held: '0', sold: '0', quota, pool: quota, leased: '0', outstanding: '0' }
    keys.hset(key, ...Object.entries({ ...counts, redeemed: '0', reservedTotal: '0', deadTotal: '0' }).flat())
    keys.sadd(call.key('skus'), id)
  }
  return keys.hget(call.meta, 'guard')
}
