/** The ledger's scripts of a rebuild, as packages/store/scripts/*.lua have them. */

import type { ScriptCall } from './script-call.ts'

/** scripts/begin-rebuild-1.lua */
export function beginRebuild(call: ScriptCall): unknown[] {
  const { keys } = call
  for (const holder of keys.zrange(call.key('leases'))) call.giveBackLease(holder)
  call.saveSkus()
  const [epoch, seq] = [keys.hget(call.meta, 'epoch'), keys.hget(call.meta, 'seq')]
  keys.hset(call.meta, 'guard', 'rebuilding')
  return [epoch ?? '0', seq ?? '0', call.guard ?? '']
}

/** scripts/end-rebuild-1.lua */
export function endRebuild(call: ScriptCall): number {
  call.checkGuard()
  const { keys } = call
  const seq = Math.max(Number(keys.hget(call.meta, 'seq') ?? 0), call.number(3))
  keys.hset(call.meta, 'guard', call.arg(1), 'epoch', call.arg(2), 'seq', String(seq))
  return 1
}

/** scripts/adopt-1.lua */
export function adopt(call: ScriptCall): number[] {
  call.checkGuard()
  const events: string[] = []
  const replies: number[] = []
  for (let at = 2; at < call.args.length; at += 2) {
    const [orderId, record] = [call.arg(at), call.arg(at + 1)]
    const reply = adoptOne(call, orderId, record)
    if ((reply === 1 || reply === 3) && call.arg(1) === '1') events.push(`${orderId}|${record}`)
    replies.push(reply)
  }
  call.saveSkus()
  call.emit(events)
  return replies
}

function adoptOne(call: ScriptCall, orderId: string, record: string): 0 | 1 | 2 | 3 {
  const { keys } = call
  const parts = record.split('|')
  if (call.sku(parts[1] as string) === undefined) return 0
  const known = keys.hget(call.key('orders'), orderId)
  if (known === null) return putBack(call, orderId, record) ? 1 : 0
  if (!known.startsWith('held|') || parts[0] === 'held') return 2
  if (call.settle(orderId, parts[0] as string, true).code !== 1) return 2
  keys.hset(call.key('orders'), orderId, record)
  return 3
}

function putBack(call: ScriptCall, orderId: string, record: string): boolean {
  const { keys } = call
  const parts = record.split('|')
  const row = call.sku(parts[1] as string)
  if (row !== undefined && keys.zrem(call.key('tokens'), `${orderId.slice(1)}|${parts[1]}|${parts[3]}`)) {
    row.outstanding -= Number(parts[3])
    row.pool += Number(parts[3])
    row.isChanged = true
  }
  if (!count(call, parts)) return false
  keys.hset(call.key('orders'), orderId, record)
  if (parts[0] === 'held') keys.zadd(call.key('holds'), Number(parts[8]), orderId)
  const seq = Number(keys.hget(call.meta, 'seq') ?? 0)
  if (Number(parts[6]) > seq) keys.hset(call.meta, 'seq', parts[6] as string)
  return true
}

function count(call: ScriptCall, [state, id = '', uid = '', units]: readonly string[]): boolean {
  const row = call.sku(id)
  if (row === undefined) return false
  const quantity = Number(units)
  if (state === 'held' || state === 'paid') {
    if (row.free < quantity) return false
    const missing = Math.max(0, quantity - row.pool)
    row.quota += missing
    row.pool += missing - quantity
    row.free -= quantity
    row.redeemed += quantity
    row[state === 'held' ? 'held' : 'sold'] += quantity
    call.keys.hincrby(call.key('buyers'), `${uid}:${id}`, quantity)
    call.keys.hincrby(call.key('buyers'), uid, quantity)
  }
  row.reservedTotal += 1
  row.isChanged = true
  return true
}
