/**
 * The board of verdicts about abuse: those in force, and a log of what was said, which limiters follow by position.
 *
 * ```
 *   head   { bornAt, next 1,207 }
 *   active   uid:7 → verdict · ip:203.0.113.7 → verdict …        who is in force now? (all, or one)
 *   expiry   subject → when it runs out                          swept a few at a time, by whoever says something
 *   log      [ 207 … 1,206 ]                                      what was said since position p?
 * ```
 */

import { type AbuseVerdict, subjectOf } from '@bigtap/domain'
import { assert, CodedError } from '@bigtap/kernel'
import { ABUSE_BATCH_MAX, decodeAbuseVerdicts, encodeAbuseVerdicts } from '@bigtap/protocol'
import type { Store } from './connection.ts'
import { loadScript, runScript } from './script.ts'

/** Verdicts by position; the first stands at `from`. */
export interface SaidVerdicts {
  readonly from: number
  readonly verdicts: readonly AbuseVerdict[]
}

/** Where the log stands. */
export interface AbuseHead {
  /** Names this log on this run of the server: under another id positions mean nothing, and all that is in force is read again. */
  readonly logId: string
  /** The board was made at this time, by Redis' clock; '' while nothing was ever said. Under another one it has lost its memory. */
  readonly bornAt: string
  /** Position behind the newest entry. */
  readonly head: number
}

/** Verdicts in force at a time; one more is refused with ABUSE_BOARD_FULL. */
export const ABUSE_VERDICTS_MAX = 1_000_000
/** Entries that the log keeps; who is further behind reads all that are in force. */
export const ABUSE_LOG_MAX = 100_000

const SAY = loadScript('say-verdicts-4')
const HEAD = 'bt:{abuse}:head'
const ACTIVE = 'bt:{abuse}:active'
const EXPIRY = 'bt:{abuse}:expiry'
const LOG = 'bt:{abuse}:log'
/** Verdicts that ran out and that one call removes: less than 1 ms of Redis' one thread. */
const SWEEP_MAX = 512
const PAGE = 500

/** The board in Redis. Faults: STORE_FAILED. */
export class AbuseBoard {
  readonly #store: Store
  readonly #verdictsMax: number
  readonly #logMax: number

  constructor(
    store: Store,
    { verdictsMax = ABUSE_VERDICTS_MAX, logMax = ABUSE_LOG_MAX }: { verdictsMax?: number; logMax?: number } = {},
  ) {
    this.#store = store
    this.#verdictsMax = verdictsMax
    this.#logMax = logMax
  }

  /**
   * Says verdicts, at most 1,024: each replaces the one before about its subject, one that expires not after it was given ends it.
   * Returns the position of the first. Throws ABUSE_BOARD_FULL, and then none of them was said.
   */
  async say(verdicts: readonly AbuseVerdict[]): Promise<number> {
    assert(verdicts.length <= ABUSE_BATCH_MAX, `${verdicts.length} verdicts exceed ${ABUSE_BATCH_MAX}`)
    if (verdicts.length === 0) return this.head()
    const args: (string | number | Buffer)[] = [this.#verdictsMax, this.#logMax, SWEEP_MAX]
    for (const verdict of verdicts) {
      const isLift = verdict.expiresAt <= verdict.at
      args.push(subjectOf(verdict), isLift ? 0 : verdict.expiresAt, bytesOf(verdict))
    }
    return Number(await runScript(this.#store, SAY, [HEAD, ACTIVE, EXPIRY, LOG], args))
  }

  /** Position behind the newest entry of the log; 0: the board is empty, or was emptied. */
  async head(): Promise<number> {
    return (await this.readHead()).head
  }

  /** Where the log stands, and which log it is. */
  async readHead(): Promise<AbuseHead> {
    const { redis, runId } = this.#store
    if (runId === undefined) throw new CodedError({ code: 'STORE_UNAVAILABLE', message: 'redis is not connected' })
    const [bornAt, next] = await redis.hmget(HEAD, 'bornAt', 'next').catch(fail)
    return { logId: `${runId}:${bornAt ?? ''}`, bornAt: bornAt ?? '', head: Number(next ?? 0) }
  }

  /**
   * Entries from a position on, at most `max`; none at the head. Undefined when the log does not reach back so far, has not
   * come so far, or holds what nobody can read: all that is in force is then to be read.
   */
  async since(position: number, max: number): Promise<SaidVerdicts | undefined> {
    const { redis } = this.#store
    const call = redis
      .multi()
      .hget(HEAD, 'next')
      .xrangeBuffer(LOG, `${position + 1}-0`, '+', 'COUNT', max)
    const [next, entries] = ((await call.exec().catch(fail)) ?? []).map(([error, reply]) =>
      error ? fail(error) : reply,
    )
    const head = Number(next ?? 0)
    const rows = (entries ?? []) as [Buffer, Buffer[]][]
    const [first] = rows
    if (position > head || (first === undefined && position < head)) return undefined
    if (first !== undefined && first[0].toString() !== `${position + 1}-0`) return undefined
    const verdicts = rows.map(([, fields]) => verdictIn(fields[1])).filter((verdict) => verdict !== undefined)
    return verdicts.length === rows.length ? { from: position, verdicts } : undefined
  }

  /** All verdicts in force, in pages and in no order; one that is replaced meanwhile may come twice. */
  async *active(): AsyncGenerator<readonly AbuseVerdict[]> {
    let cursor = '0'
    do {
      const page = await this.page(cursor, PAGE)
      cursor = page.cursor
      yield page.verdicts
    } while (cursor !== '0')
  }

  /** One page of the verdicts in force, of about `count`; from cursor '0' until it is '0' again. */
  async page(cursor: string, count: number): Promise<{ cursor: string; verdicts: readonly AbuseVerdict[] }> {
    const { redis } = this.#store
    const [time, [next, fields]] = await Promise.all([
      redis.time(),
      redis.hscanBuffer(ACTIVE, cursor, 'COUNT', count),
    ]).catch(fail)
    const now = Number(time[0]) * 1000
    const verdicts: AbuseVerdict[] = []
    for (let at = 1; at < fields.length; at += 2) {
      const verdict = verdictIn(fields[at])
      if (verdict !== undefined && verdict.expiresAt > now) verdicts.push(verdict)
    }
    return { cursor: next.toString(), verdicts }
  }

  /** The verdict in force about a subject (`uid:7`). */
  async get(subject: string): Promise<AbuseVerdict | undefined> {
    const { redis } = this.#store
    const [time, bytes] = await Promise.all([redis.time(), redis.hgetBuffer(ACTIVE, subject)]).catch(fail)
    const verdict = verdictIn(bytes ?? undefined)
    return verdict !== undefined && verdict.expiresAt > Number(time[0]) * 1000 ? verdict : undefined
  }
}

function bytesOf(verdict: AbuseVerdict): Buffer {
  const bytes = encodeAbuseVerdicts({ from: 0, verdicts: [verdict] })
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

/** A foreign value is no verdict. */
function verdictIn(bytes: Buffer | undefined): AbuseVerdict | undefined {
  try {
    return bytes === undefined ? undefined : decodeAbuseVerdicts(bytes).verdicts[0]
  } catch {
    return undefined
  }
}

function fail(cause: unknown): never {
  const message = cause instanceof Error ? cause.message : String(cause)
  throw new CodedError({ code: 'STORE_FAILED', message: `board of verdicts: ${message}`, cause })
}
