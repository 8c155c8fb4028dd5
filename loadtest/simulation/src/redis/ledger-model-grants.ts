/** The ledger's scripts of Middle, as packages/store/scripts/*.lua have them. */

import { luaText, type ScriptCall, type SkuRow } from './script-call.ts'

/** scripts/claim-1.lua */
export function claim(call: ScriptCall): number {
  call.checkGuard()
  const { keys, now } = call
  const field = `fence:${call.arg(1)}`
  const before = keys.hget(call.meta, field)
  const fence = Math.max(now, Number(before ?? 0) + 1)
  keys.hset(call.meta, field, String(fence))
  if (before !== null) call.giveBackLease(`${call.arg(1)}|${before}`)
  call.saveSkus()
  return fence
}

/** scripts/lease-1.lua */
export function lease(call: ScriptCall): number[][] {
  call.checkGuard()
  const holder = call.checkFence()
  const { keys, now } = call
  const leaseKey = call.key(`lease:${holder}`)
  keys.zadd(call.key('leases'), now + call.number(3), holder)
  const replies: number[][] = []
  for (let at = 5; at < call.args.length; at += 6) {
    const id = call.arg(at)
    const row = call.sku(id)
    if (row === undefined) {
      replies.push([-1])
      continue
    }
    const before = Number(keys.hget(leaseKey, id) ?? 0)
    const back = Math.min(call.number(at + 3), before)
    const [want, more, pace] = [call.number(at + 1), call.number(at + 2), call.number(at + 4)]
    const wish = { want, more, back, pace, weight: call.number(at + 5) }
    const { taken, demand } = pace < 0 ? unpaced(row, wish) : throughPace(call, row, id, wish)
    const change = taken - back
    if (change !== 0) {
      row.pool -= change
      row.leased += change
      row.isChanged = true
      keys.hset(leaseKey, id, String(before + change))
    }
    const { stock, free, held, sold, quota, pool, leased, outstanding, redeemed } = row
    replies.push([before + change, stock, free, held, sold, quota, pool, leased, outstanding, redeemed, demand])
  }
  call.saveSkus()
  return replies
}

/** scripts/claim-slots-1.lua: 0 refused, 1 taken, 2 kept. */
export function claimSlots(call: ScriptCall): number[] {
  call.checkGuard()
  call.checkFence()
  const { keys } = call
  const [node, fence, heldFence, epoch] = [call.arg(1), call.arg(2), call.arg(3), call.number(4)]
  const slots = call.args.slice(5)
  const owners = slots.map((slot) => keys.hget(call.key('owners'), slot) ?? '')
  return slots.map((slot, index) => {
    const [itsEpoch = '', itsFence, itsNode] = (owners[index] ?? '').split('|')
    const its = itsEpoch === '' ? -1 : Number(itsEpoch)
    const isOurs = itsNode === node
    const isKept = isOurs && (itsFence === fence || itsFence === heldFence)
    if (!isKept && !isOurs && its >= epoch) return 0
    keys.hset(call.key('owners'), slot, `${Math.max(its, epoch)}|${fence}|${node}`)
    return isKept ? 2 : 1
  })
}

/** scripts/owned.lua */
function isOwned(call: ScriptCall, slot: string): boolean {
  if (call.omit.slotOwner) return true
  return call.keys.hget(call.key('owners'), slot)?.split('|')[2] === call.arg(1)
}

interface Wish {
  readonly want: number
  readonly more: number
  readonly back: number
  readonly pace: number
  readonly weight: number
}

function unpaced(row: SkuRow, { want, more, back }: Wish): { taken: number; demand: number } {
  return { taken: Math.max(0, Math.min(want + more, row.pool + back)), demand: 0 }
}

const PACE = { windowMs: 1_000, binMs: 100, bins: 11, shortMs: 200, demandMs: 200 } as const

/** scripts/pace.lua: what the pace lets through, and the demand of all nodes in thousandths. */
function throughPace(call: ScriptCall, row: SkuRow, id: string, wish: Wish): { taken: number; demand: number } {
  const { want, more, back, pace, weight } = wish
  const { keys, now } = call
  const key = call.key(`sku:${id}`)
  const chunkMs = call.number(4)
  const number = (field: string, initial: number) => Number(keys.hget(key, field) ?? initial)
  const placeMs = 1000 / pace
  const [at, before] = [number('paceAt', now), number('paceLeft', placeMs)]
  const shortAt = number('paceShortAt', 0)
  const elapsed = Math.max(0, now - at)
  const isShort = at - shortAt <= PACE.shortMs && elapsed <= PACE.windowMs
  const idleMs = (row.leased - back) * placeMs
  const most = placeMs + (isShort ? PACE.windowMs : Math.max(chunkMs / 2, chunkMs - idleMs))
  const returned = (number('paceBack', 0) + back) * placeMs
  const left = Math.min(most, before + Math.min(elapsed, PACE.windowMs) + returned)
  const window = readWindow(keys.hget(key, 'paceWindow'), now)
  const room = Math.min(left, PACE.windowMs + chunkMs + placeMs - window.ms)
  const upper = Math.floor((left - (placeMs + chunkMs) / 2) / placeMs)
  const wanted = Math.max(want, Math.min(want + more, upper))
  const taken = Math.max(0, Math.min(wanted, Math.floor(room / placeMs + 0.001), row.pool + back))
  const demand = number('paceDemand', 0) * Math.max(0, 1 - elapsed / PACE.demandMs) + weight / PACE.demandMs
  keys.hset(key, 'paceAt', String(now), 'paceLeft', luaText(left - taken * placeMs), 'paceBack', '0')
  keys.hset(key, 'paceShortAt', String(taken < want + more ? now : shortAt), 'paceDemand', luaText(demand))
  keys.hset(key, 'paceWindow', writeWindow(window, (taken - back) * placeMs))
  return { taken, demand: Math.floor(demand * 1000) }
}

interface PaceWindow {
  readonly newest: number
  readonly values: readonly number[]
  readonly ms: number
}

function readWindow(text: string | null, now: number): PaceWindow {
  const newest = Math.floor(now / PACE.binMs)
  const [its = newest, ...old] = (text ?? '').split(' ').filter(Boolean).map(Number)
  const passed = Math.min(PACE.bins, Math.max(0, newest - its))
  const values = [...new Array<number>(passed).fill(0), ...old]
  const [oldest, own] = [values[PACE.bins - 1] ?? 0, PACE.binMs * 1_000]
  let sum = Math.min(oldest, own) * (1 - (now % PACE.binMs) / PACE.binMs) + Math.max(0, oldest - own)
  for (let bin = 0; bin < PACE.bins - 1; bin++) sum += values[bin] ?? 0
  return { newest: Math.max(newest, its), values, ms: sum / 1000 }
}

function writeWindow({ newest, values: [first = 0, ...rest] }: PaceWindow, usedMs: number): string {
  return [newest, Math.max(0, first + Math.floor(usedMs * 1000)), ...rest].slice(0, PACE.bins + 1).join(' ')
}

interface Grant {
  readonly token: string
  readonly uid: string
  readonly slot: string
  readonly id: string
  readonly quantity: number
  readonly expiresAt: string
}

function grantAt(call: ScriptCall, at: number): Grant {
  const [token, uid, slot, id] = [call.arg(at), call.arg(at + 1), call.arg(at + 2), call.arg(at + 3)]
  return { token, uid, slot, id, quantity: call.number(at + 4), expiresAt: call.arg(at + 5) }
}

const memberOf = ({ token, id, quantity }: Grant) => `${token}|${id}|${quantity}`
const recordOf = ({ token, uid, id, quantity, expiresAt }: Grant) => [token, uid, id, quantity, expiresAt].join('|')

/** scripts/grant-1.lua */
export function grant(call: ScriptCall): number[] {
  call.checkGuard()
  const leaseKey = call.key(`lease:${call.checkFence()}`)
  const replies: number[] = []
  const events: string[] = []
  for (let at = 3; at < call.args.length; at += 6) replies.push(grantOne(call, leaseKey, grantAt(call, at), events))
  call.saveSkus()
  tellReleaseLog(call, events)
  return replies
}

function tellReleaseLog(call: ScriptCall, events: readonly string[]): void {
  if (events.length > 0) call.keys.xadd(call.key('granted'), call.now, ['n', call.arg(1), 'g', events.join('\n')])
}

function grantOne(call: ScriptCall, leaseKey: string, one: Grant, events: string[]): -2 | -1 | 0 | 1 {
  const { keys } = call
  const called = call.key(`called:${one.id}`)
  const isKnown = keys.zscore(call.key('tokens'), memberOf(one)) !== undefined
  if (isKnown || keys.hget(call.key('orders'), `o${one.token}`) !== null) return 1
  if (!isOwned(call, one.slot)) return -1
  const isLined = keys.hget(call.key(`sku:${one.id}`), 'line') !== null
  if (isLined && !call.omit.turns && keys.zscore(called, one.uid) === undefined) return -2
  const row = call.sku(one.id)
  const held = Number(keys.hget(leaseKey, one.id) ?? 0)
  if (row === undefined || held < one.quantity) return 0
  keys.hset(leaseKey, one.id, String(held - one.quantity))
  row.leased -= one.quantity
  row.outstanding += one.quantity
  row.isChanged = true
  keys.zadd(call.key('tokens'), Number(one.expiresAt), memberOf(one))
  keys.rpush(call.key(`slot:${one.slot}`), recordOf(one))
  keys.sadd(call.key('slots'), one.slot)
  events.push(recordOf(one))
  if (isLined) keys.zrem(called, one.uid)
  return 1
}

/** scripts/adopt-grants-1.lua */
export function adoptGrants(call: ScriptCall): number[] {
  call.checkGuard()
  call.checkFence()
  const replies: number[] = []
  const events: string[] = []
  for (let at = 3; at < call.args.length; at += 6) replies.push(adoptOne(call, grantAt(call, at), events))
  call.saveSkus()
  tellReleaseLog(call, events)
  return replies
}

function adoptOne(call: ScriptCall, one: Grant, events: string[]): -1 | 0 | 1 {
  const { keys, now } = call
  if (keys.zscore(call.key('tokens'), memberOf(one)) !== undefined) return 1
  if (!isOwned(call, one.slot)) return -1
  const row = call.sku(one.id)
  const isOrder = keys.hget(call.key('orders'), `o${one.token}`) !== null
  let reply: 0 | 1 = 1
  if (!isOrder && Number(one.expiresAt) >= now && row !== undefined) {
    if (row.pool < one.quantity) reply = 0
    else {
      row.pool -= one.quantity
      row.outstanding += one.quantity
      row.isChanged = true
      keys.zadd(call.key('tokens'), Number(one.expiresAt), memberOf(one))
    }
  }
  const log = call.key(`slot:${one.slot}`)
  if (!keys.lists.get(log)?.includes(recordOf(one))) {
    keys.rpush(log, recordOf(one))
    keys.sadd(call.key('slots'), one.slot)
    events.push(recordOf(one))
  }
  return reply
}
