/** The lines of buyers in Redis: places, who was called, how far the line has moved, and what was drawn. */

import { assert, hasCode } from '@bigtap/kernel'
import type { Store } from './connection.ts'
import { type Guards, metaKey, rootKey } from './guards.ts'
import { loadScript, runScript } from './script.ts'

/** Who speaks: a node under the fence that its claim gave it. */
export interface Claimant {
  readonly activityId: number
  readonly nodeId: string
  readonly fence: number
}

/** Buyers that join in one call, at most. */
export const LINE_JOINS_MAX = 512
/** Buyers that are heard in one call, at most. */
export const LINE_HEARD_MAX = 1_024
/** Buyers at the front that one call looks at: leavers among them are passed over. */
export const LINE_LOOKS_MAX = 512
/** Places of a draw that are read at a time. */
export const DRAWN_PAGE = 1_000

/** `list`: only as long as somebody stands in it. `queue`, `draw`: for the whole sale. */
export type LineMode = 'list' | 'queue' | 'draw'

/** A buyer who wants a place; with a draw also the score that the seed gives him (below 2^52), and his pseudonym. */
export interface LineJoin {
  readonly uid: number
  readonly score?: number
  readonly pseudonym?: string
}

/** What one node tells and wants of the line of one SKU. Times in ms. */
export interface LineCall {
  readonly skuId: number
  readonly mode: LineMode
  /** Before it nobody is called, and with `draw` who joins takes part in the draw. */
  readonly callsAt: number
  readonly heartbeatMs: number
  readonly callMs: number
  /** As many may be called and not have come yet; undefined: as many as there are places. */
  readonly calledMax: number | undefined
  /** Everybody counts as heard then: nobody could ask before. */
  readonly thereAt: number
  readonly joins: readonly LineJoin[]
  readonly heard: readonly number[]
}

/** How a line stands: who left its front so far (`cursor`), who ever joined, who waits, who was called and has not come. */
export interface LineState {
  readonly cursor: number
  readonly joined: number
  readonly waiting: number
  readonly called: number
}

/** The answer of a call. */
export interface LineReply extends LineState {
  /** Number of the run; places of another one are void. */
  readonly run: number
  /** For each join: its place, `called` when it is this buyer's turn, `drawn` while the draw collects. */
  readonly places: readonly (number | 'called' | 'drawn')[]
  /** Of those that were heard: who has no place any more. */
  readonly lost: readonly number[]
}

/** One place of a draw. */
export interface DrawnPlace {
  readonly pseudonym: string
  readonly score: number
}

const SCRIPTS = {
  line: loadScript('line-1', ['prelude', 'guarded', 'fenced']),
  clear: loadScript('clear-lines-1', ['prelude']),
}

/** Middle's and master's side of the lines. Faults as the ledger's; `serve` also STALE_FENCE. */
export class Lines {
  readonly #store: Store
  readonly #guards: Guards

  constructor(store: Store, guards: Guards) {
    this.#store = store
    this.#guards = guards
  }

  /** Takes joins and heartbeats, and calls whose turn has come; one atomic step. Safe to repeat: a place is found by uid. */
  async serve(who: Claimant, call: LineCall): Promise<LineReply> {
    const { joins, heard } = call
    assert(
      joins.length <= LINE_JOINS_MAX && heard.length <= LINE_HEARD_MAX,
      `${joins.length} joins, ${heard.length} heard`,
    )
    const args: (string | number)[] = [
      ...[who.nodeId, who.fence, call.skuId, call.mode, call.callsAt, call.heartbeatMs, call.callMs],
      ...[call.calledMax ?? -1, Math.floor(call.thereAt), LINE_LOOKS_MAX, joins.length],
    ]
    for (const { uid, score = 0, pseudonym = '' } of joins) args.push(uid, score, pseudonym)
    for (const uid of heard) args.push(uid)
    const guard = await this.#guards.get(who.activityId)
    try {
      const reply = await runScript(this.#store, SCRIPTS.line, [metaKey(who.activityId)], [guard, ...args])
      return readReply(reply as unknown[])
    } catch (error) {
      if (hasCode(error, 'STALE_GUARD')) this.#guards.forget(who.activityId)
      throw error
    }
  }

  /** Ends the lines of these SKUs: all places are void. */
  async clear(activityId: number, skuIds: readonly number[]): Promise<number> {
    return Number(await runScript(this.#store, SCRIPTS.clear, [metaKey(activityId)], skuIds))
  }

  /** How the line of a SKU stands; undefined while nobody has joined. */
  async state(activityId: number, skuId: number): Promise<LineState | undefined> {
    const { redis } = this.#store
    const root = rootKey(activityId)
    const [turns, waiting, called] = await Promise.all([
      redis.hmget(`${root}turns:${skuId}`, 'cursor', 'joined'),
      redis.zcard(`${root}line:${skuId}`),
      redis.zcard(`${root}called:${skuId}`),
    ])
    if (turns[1] === null || turns[1] === undefined) return undefined
    return { cursor: Number(turns[0]), joined: Number(turns[1]), waiting, called }
  }

  /** How many places were drawn. */
  async drawnCount(activityId: number, skuId: number): Promise<number> {
    return this.#store.redis.zcard(`${rootKey(activityId)}drawn:${skuId}`)
  }

  /** Places of the draw in their order, from place `from` (0 is the first), at most DRAWN_PAGE. */
  async drawn(activityId: number, skuId: number, from: number): Promise<DrawnPlace[]> {
    const key = `${rootKey(activityId)}drawn:${skuId}`
    const flat = await this.#store.redis.zrange(key, `${from}`, `${from + DRAWN_PAGE - 1}`, 'WITHSCORES')
    return Array.from({ length: flat.length / 2 }, (_, index) => ({
      pseudonym: flat[index * 2] ?? '',
      score: Number(flat[index * 2 + 1]),
    }))
  }
}

function readReply([run, cursor, joined, waiting, called, places, lost]: unknown[]): LineReply {
  const state = { cursor: Number(cursor), joined: Number(joined), waiting: Number(waiting), called: Number(called) }
  const read = (place: number) => (place > 0 ? place : place === 0 ? 'called' : 'drawn')
  return {
    ...state,
    run: Number(run),
    places: (places as unknown[]).map((place) => read(Number(place))),
    lost: (lost as unknown[]).map(Number),
  }
}
