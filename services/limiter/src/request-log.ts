/**
 * What became of requests, on its way to topic `access`.
 *
 * ```
 *   note ──► group 0 … 15 (rows in columns) ── 100 ms, or full ──► encoded ──► waiting ── one send at a time ──► log
 *              │ full: dropped, counted                             │ full: dropped, counted    │ failed: dropped, counted
 * ```
 * An answer never waits for it: `note` writes a row into columns that are there, or counts a drop. A send that failed is not
 * repeated: the log may have it, and a row that counts twice would accuse somebody of what was done once.
 */

import type { LogRecord, Producer } from '@bigtap/eventlog'
import { type Clock, type Logger, type Metrics, slotOf } from '@bigtap/kernel'
import {
  type AccessCall,
  AccessColumns,
  type AccessOutcome,
  ADDRESS_CHARS_MAX,
  encodeAccessBatch,
} from '@bigtap/protocol'
import type { AccessLog } from './core/ports.ts'
import type { Requester } from './core/requester.ts'

/** What a request log is told. */
export interface RequestLogSettings {
  readonly nodeId: string
  /** Rows of a group between two flushes. */
  readonly rowsMax?: number
  /** Encoded bytes that wait for the log. */
  readonly waitingBytesMax?: number
}

/** What it works with. */
export interface RequestLogParts {
  readonly producer: Producer
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: Metrics
}

/** Why rows were not written: their group was full, too much waits for the log, a send failed, or a batch could not be encoded. */
const DROPS = ['group_full', 'waiting_full', 'send_failed', 'not_encoded'] as const
type Drop = (typeof DROPS)[number]

/** Uids of one group stay in order: they lie in one partition. */
const GROUPS = 16
const TOPIC = 'access'
/** How long a row waits at most before it is on its way, ms. */
const FLUSH_MS = 100
const STOP_MS = 1_000
/** 16 groups of 4,096 rows in 100 ms: 650,000 rows a second, ten times what one process answers. 3.5 MB. */
const ROWS_MAX = 4_096
/** A second and more of 50,000 rows a second, at about 30 bytes. */
const WAITING_BYTES_MAX = 4_194_304
const SEND_RECORDS_MAX = 256
const FLAGS_MASK = 0xffff
const ASCII = /^[\x20-\x7e]*$/

interface Waiting extends LogRecord {
  readonly rows: number
}

/** The request log of this process. */
export class RequestLog implements AccessLog {
  readonly limits: Readonly<Record<string, number>>
  readonly #groups: readonly Group[]
  readonly #parts: RequestLogParts
  readonly #waitingBytesMax: number
  readonly #drops: Record<Drop, number> = { group_full: 0, waiting_full: 0, send_failed: 0, not_encoded: 0 }
  #waiting: Waiting[] = []
  #waitingBytes = 0
  #sent = 0
  #sending: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #early: NodeJS.Immediate | undefined
  #hasFailed = false

  constructor(settings: RequestLogSettings, parts: RequestLogParts) {
    const { nodeId, rowsMax = ROWS_MAX, waitingBytesMax = WAITING_BYTES_MAX } = settings
    this.#parts = parts
    this.#waitingBytesMax = waitingBytesMax
    this.#groups = Array.from({ length: GROUPS }, (_, index) => new Group(`a${index}`, nodeId, rowsMax))
    this.limits = { groups: GROUPS, rowsMax, waitingBytesMax, flushMs: FLUSH_MS }
    this.#declareMetrics()
  }

  /** Rows that were not written, for whatever reason. */
  get dropped(): number {
    const { group_full, waiting_full, send_failed, not_encoded } = this.#drops
    return group_full + waiting_full + send_failed + not_encoded
  }

  /** Rows that the log has taken. */
  get sent(): number {
    return this.#sent
  }

  note(who: Requester, call: AccessCall, outcome: AccessOutcome, flags: number, tier: number): void {
    const group = this.#groups[(who.uid === 0 ? who.addressHash : slotOf(who.uid)) & (GROUPS - 1)] as Group
    if (!group.add(who, this.#parts.clock.now(), call, outcome, flags & FLAGS_MASK, tier)) this.#drops.group_full++
    else if (group.isFull) this.#early ??= setImmediate(() => this.flush())
  }

  start(): void {
    this.#timer ??= setInterval(() => this.flush(), FLUSH_MS)
  }

  /** Sends what is there, for a second at most. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.flush()
    let late: NodeJS.Timeout | undefined
    const deadline = new Promise<void>((resolve) => {
      late = setTimeout(resolve, STOP_MS)
    })
    await Promise.race([deadline, this.#sending])
    clearTimeout(late)
  }

  /** Encodes what the groups hold and begins to send it. */
  flush(): void {
    if (this.#early !== undefined) clearImmediate(this.#early)
    this.#early = undefined
    for (const group of this.#groups) if (group.rows > 0) this.#encode(group)
    if (this.#waiting.length > 0) this.#sending ??= this.#send()
  }

  #encode(group: Group): void {
    const { rows, key } = group
    try {
      const value = group.take()
      if (this.#waitingBytes + value.length > this.#waitingBytesMax) {
        this.#drops.waiting_full += rows
        return
      }
      this.#waiting.push({ key, value, rows })
      this.#waitingBytes += value.length
    } catch (error) {
      this.#drops.not_encoded += rows
      this.#parts.logger.error({ error, rows }, 'a batch of the request log could not be encoded')
    }
  }

  /** Never rejects. */
  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const some = this.#waiting.slice(0, SEND_RECORDS_MAX)
      this.#waiting = this.#waiting.slice(SEND_RECORDS_MAX)
      const rows = some.reduce((sum, record) => sum + record.rows, 0)
      await this.#parts.producer.send(TOPIC, some).then(
        () => this.#onSent(rows),
        (error: unknown) => this.#onFailed(error, rows),
      )
      this.#waitingBytes -= some.reduce((sum, { value }) => sum + value.length, 0)
    }
    this.#sending = undefined
  }

  #onSent(rows: number): void {
    this.#sent += rows
    if (this.#hasFailed) this.#parts.logger.info({}, 'the request log is written again')
    this.#hasFailed = false
  }

  #onFailed(error: unknown, rows: number): void {
    this.#drops.send_failed += rows
    const level = this.#hasFailed ? 'debug' : 'warn'
    this.#parts.logger[level]({ error, rows }, 'rows of the request log were dropped')
    this.#hasFailed = true
  }

  #declareMetrics(): void {
    const { metrics } = this.#parts
    const gauge = (name: string, help: string, read: () => number, labels?: Record<string, string>) =>
      metrics.gauge(`bigtap_limiter_access_${name}`, help, read, labels)
    gauge('sent_count', 'Rows of the request log that were written, since the start', () => this.#sent)
    for (const reason of DROPS)
      gauge('dropped_count', 'Rows of the request log that fell, by reason', () => this.#drops[reason], { reason })
    gauge('waiting_bytes', 'Bytes of the request log that wait', () => this.#waitingBytes)
    gauge('waiting_capacity_bytes', 'Most bytes of the request log that may wait', () => this.#waitingBytesMax)
  }
}

/** Rows of one group of uids between two flushes. */
class Group {
  readonly key: string
  readonly #nodeId: string
  readonly #columns: AccessColumns
  /** Places of the addresses in the batch. */
  readonly #places = new Map<string, number>()
  #at = 0

  constructor(key: string, nodeId: string, rowsMax: number) {
    this.key = key
    this.#nodeId = nodeId
    this.#columns = new AccessColumns(rowsMax)
  }

  get rows(): number {
    return this.#columns.rows
  }

  get isFull(): boolean {
    return this.#columns.rows === this.#columns.capacity
  }

  /** Writes a row; false when there is no room. */
  add(who: Requester, now: number, call: AccessCall, outcome: AccessOutcome, flags: number, tier: number): boolean {
    const columns = this.#columns
    const row = columns.rows
    if (row === columns.capacity) return false
    if (row === 0) columns.at = this.#nextAt(now)
    columns.afterMs[row] = Math.max(0, now - columns.at)
    columns.uid[row] = who.uid
    columns.activityId[row] = who.activityId
    columns.skuId[row] = who.skuId
    columns.call[row] = call
    columns.outcome[row] = outcome
    columns.flags[row] = flags
    columns.tier[row] = tier
    columns.device[row] = who.device
    columns.address[row] = this.#places.get(who.address) ?? this.#place(who.address)
    columns.rows = row + 1
    return true
  }

  /** The rows as bytes; the group is empty then, whatever happens. */
  take(): Uint8Array {
    this.#columns.nodeId = this.#nodeId
    try {
      return encodeAccessBatch(this.#columns)
    } finally {
      this.#columns.clear()
      this.#places.clear()
    }
  }

  /** Of a node and group it only grows, so that a reader can tell a batch that comes twice. */
  #nextAt(now: number): number {
    this.#at = Math.max(Math.floor(now), this.#at + 1)
    return this.#at
  }

  #place(address: string): number {
    const { addresses } = this.#columns
    const place = addresses.push(address.length <= ADDRESS_CHARS_MAX && ASCII.test(address) ? address : '') - 1
    this.#places.set(address, place)
    return place
  }
}
