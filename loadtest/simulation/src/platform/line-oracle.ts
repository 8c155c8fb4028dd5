/**
 * Watches the lines: nobody is called before somebody who joined earlier and is still there, and nobody is granted who was
 * not called. It keeps its own line, from what nodes asked of Redis and what Redis said, and looks into Redis only to see
 * who is called now.
 */

import type { Keyspace } from '../redis/keyspace.ts'
import type { ScriptRun } from '../redis/redis-model.ts'

/** Collaborators. */
export interface LineOracleParts {
  readonly root: string
  keys(): Keyspace
  violate(what: string): void
}

interface SeenLine {
  /** In order of joining, but for those who were drawn. */
  queue: string[]
  /** Who was drawn and stands in front of the others, in an order of his own. */
  drawn: Set<string>
  readonly heardAt: Map<string, number>
  called: Set<string>
}

const DRAWN_BELOW = 2 ** 52

/** The lines of one activity. */
export class LineOracle {
  readonly #parts: LineOracleParts
  readonly #lines = new Map<string, SeenLine>()
  readonly #tokens = new Set<string>()
  /** Buyers that were called. */
  calls = 0

  constructor(parts: LineOracleParts) {
    this.#parts = parts
  }

  /** A script has run. */
  onScript({ name, args, reply, now }: ScriptRun): void {
    if (name === 'line-1') this.#onLine(args, now)
    else if (name === 'grant-1') this.#onGrants(args, reply as number[])
    else if (name === 'clear-lines-1') this.#lines.clear()
  }

  /** Redis is another one: what it knows is what there is. */
  onFailover(after: Keyspace): void {
    for (const [id, line] of this.#lines) {
      const key = this.#key('line', id)
      const isDrawn = (uid: string) => (after.zscore(key, uid) ?? 0) <= DRAWN_BELOW
      line.queue = after.zrange(key).filter((uid) => !isDrawn(uid))
      line.drawn = new Set(after.zrange(key).filter(isDrawn))
      line.called = new Set(after.zrange(this.#key('called', id)))
    }
  }

  #onLine(args: readonly string[], now: number): void {
    const id = args[3] ?? ''
    const [callsAt, heartbeatMs, thereAt, joins] = [5, 6, 9, 11].map((at) => Number(args[at])) as [
      number,
      number,
      number,
      number,
    ]
    const line = this.#lines.get(id) ?? newLine()
    this.#lines.set(id, line)
    const isDrawing = args[4] === 'draw' && now < callsAt
    for (const uid of args.slice(12 + joins * 3)) line.heardAt.set(uid, now)
    for (let at = 12; at < 12 + joins * 3; at += 3) {
      const uid = args[at] ?? ''
      line.heardAt.set(uid, now)
      const stands = this.#members('line', id).has(uid) || this.#members('called', id).has(uid)
      const isKnown = line.drawn.has(uid) || line.called.has(uid) || line.queue.includes(uid)
      if (!stands || isKnown) continue
      if (isDrawing) line.drawn.add(uid)
      else line.queue.push(uid)
    }
    this.#checkCalls(id, line, (uid) => Math.max(line.heardAt.get(uid) ?? 0, thereAt) + heartbeatMs >= now)
  }

  #checkCalls(id: string, line: SeenLine, isThere: (uid: string) => boolean): void {
    const called = new Set(this.#members('called', id).keys())
    const isNew = (uid: string) => called.has(uid) && !line.called.has(uid)
    const last = line.queue.findLastIndex(isNew)
    for (const uid of line.queue.slice(0, last + 1))
      if (!isNew(uid) && isThere(uid)) this.#parts.violate(`buyer ${uid} was overtaken in the line of sku ${id}`)
    for (const uid of called) if (isNew(uid)) this.calls++
    // Who was passed over has left; he is in no line of Redis any more.
    const waiting = this.#members('line', id)
    line.queue = line.queue.filter((uid) => waiting.has(uid))
    line.drawn = new Set([...line.drawn].filter((uid) => waiting.has(uid)))
    line.called = called
  }

  #onGrants(args: readonly string[], replies: readonly number[]): void {
    for (const [index, reply] of replies.entries()) {
      const [token = '', uid = '', , id = ''] = args.slice(3 + index * 6)
      if (reply !== 1 || this.#tokens.has(token)) continue
      this.#tokens.add(token)
      const line = this.#lines.get(id)
      const isLined = this.#parts.keys().hget(`${this.#parts.root}sku:${id}`, 'line') !== null
      if (isLined && !line?.called.delete(uid))
        this.#parts.violate(`buyer ${uid} was granted sku ${id}, and it was not his turn`)
    }
  }

  #key(kind: string, id: string): string {
    return `${this.#parts.root}${kind}:${id}`
  }

  #members(kind: string, id: string): ReadonlyMap<string, number> {
    return this.#parts.keys().sortedSets.get(this.#key(kind, id)) ?? NOBODY
  }
}

function newLine(): SeenLine {
  return { queue: [], drawn: new Set(), heardAt: new Map(), called: new Set() }
}

const NOBODY: ReadonlyMap<string, number> = new Map()
