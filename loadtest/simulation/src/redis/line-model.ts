/** The scripts of the lines, as packages/store/scripts/line-1.lua and clear-lines-1.lua have them. */

import type { ScriptCall } from './script-call.ts'

const DRAWN_BELOW = 2 ** 52
const KINDS = ['line', 'called', 'seen', 'drawn', 'turns']

/** What one call of line-1 works with. */
class Line {
  readonly call: ScriptCall
  readonly id: string
  readonly line: string
  readonly called: string
  readonly seen: string
  readonly callsAt: number
  readonly callMs: number
  cursor: number
  joined: number

  constructor(call: ScriptCall) {
    this.call = call
    this.id = call.arg(3)
    this.line = call.key(`line:${this.id}`)
    this.called = call.key(`called:${this.id}`)
    this.seen = call.key(`seen:${this.id}`)
    this.callsAt = call.number(5)
    this.callMs = call.number(7)
    this.cursor = this.#turn('cursor')
    this.joined = this.#turn('joined')
  }

  size(key: string): number {
    return this.call.keys.sortedSets.get(key)?.size ?? 0
  }

  #turn(name: string): number {
    return Number(this.call.keys.hget(this.call.key(`turns:${this.id}`), name) ?? 0)
  }

  placeOf(uid: string, score: number): number {
    const { keys, now } = this.call
    if (score > DRAWN_BELOW) return score - DRAWN_BELOW
    return now < this.callsAt ? -1 : this.cursor + keys.zrange(this.line).indexOf(uid) + 1
  }

  hear(uid: string): number | undefined {
    const { keys, now } = this.call
    const score = keys.zscore(this.line, uid)
    if (score !== undefined) {
      keys.hset(this.seen, uid, String(now))
      return this.placeOf(uid, score)
    }
    if (keys.zscore(this.called, uid) === undefined) return undefined
    keys.zadd(this.called, now + this.callMs, uid)
    return 0
  }

  join(at: number): number {
    const { call } = this
    const { keys, now } = call
    const uid = call.arg(at)
    const known = this.hear(uid)
    if (known !== undefined) return known
    this.joined++
    const isDrawn = call.arg(4) === 'draw' && now < this.callsAt
    const score = isDrawn ? call.number(at + 1) : DRAWN_BELOW + this.joined
    if (isDrawn) keys.zadd(call.key(`drawn:${this.id}`), score, call.arg(at + 2))
    keys.zadd(this.line, score, uid)
    keys.hset(this.seen, uid, String(now))
    return this.placeOf(uid, score)
  }

  /** Calls whose turn it is; `free` are the places for them. */
  serve(free: number, looksMax: number): void {
    const { keys, now } = this.call
    const [heartbeatMs, thereAt] = [this.call.number(6), this.call.number(9)]
    let left = free
    for (let looked = 0; left > 0 && looked < looksMax; ) {
      const next = keys.zrange(this.line, { limit: Math.min(left, looksMax - looked, 1_000) })
      if (next.length === 0) break
      for (const uid of next) {
        if (Math.max(Number(keys.hget(this.seen, uid) ?? 0), thereAt) + heartbeatMs >= now) {
          keys.zadd(this.called, now + this.callMs, uid)
          left--
        }
        keys.hdel(this.seen, uid)
        keys.zrem(this.line, uid)
      }
      this.cursor += next.length
      looked += next.length
    }
  }
}

/** scripts/line-1.lua */
export function line(call: ScriptCall): unknown[] {
  call.checkGuard()
  call.checkFence()
  const { keys, now } = call
  const row = call.sku(call.arg(3))
  const run = Number(keys.hget(call.key('lines'), 'run') ?? 0)
  if (row === undefined) return [run, 0, 0, 0, 0, [], []]
  const state = new Line(call)
  const [cursor, joined] = [state.cursor, state.joined]
  const [calledMax, looksMax, joins] = [call.number(8), call.number(10), call.number(11)]
  const lost = call.args.slice(12 + joins * 3).filter((uid) => state.hear(uid) === undefined)
  const places = Array.from({ length: joins }, (_, index) => state.join(12 + index * 3))
  for (const uid of keys.zrange(state.called, { max: now, limit: looksMax })) keys.zrem(state.called, uid)
  const called = state.size(state.called)
  const room = row.free > 0 ? row.pool + row.leased - called : 0
  const free = calledMax < 0 ? room : Math.min(room, calledMax - called)
  if (now >= state.callsAt) state.serve(free, looksMax)
  const turns = call.key(`turns:${state.id}`)
  if (state.cursor !== cursor || state.joined !== joined)
    keys.hset(turns, 'cursor', String(state.cursor), 'joined', String(state.joined))
  const [waiting, rest] = [state.size(state.line), state.size(state.called)]
  markLine(call, state.id, waiting + rest)
  return [run, state.cursor, state.joined, waiting, rest, places, lost]
}

function markLine(call: ScriptCall, id: string, size: number): void {
  const mode = call.arg(4)
  if (mode === 'list' && size === 0) call.keys.hdel(call.key(`sku:${id}`), 'line')
  else call.keys.hset(call.key(`sku:${id}`), 'line', mode)
}

/** scripts/clear-lines-1.lua */
export function clearLines(call: ScriptCall): number {
  const { keys } = call
  for (const id of call.args) {
    for (const kind of KINDS) keys.del(call.key(`${kind}:${id}`))
    keys.hdel(call.key(`sku:${id}`), 'line')
  }
  return keys.hincrby(call.key('lines'), 'run', 1)
}
