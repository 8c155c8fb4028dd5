/** The durable log as its users see it. One conformance suite runs over all adapters (eventlog.integration.test.ts). */

/** What is sent. Records of one key stay in order. */
export interface LogRecord {
  readonly key: string
  readonly value: Uint8Array
}

/** A record of the log. `position` is its place in its partition; its form is the adapter's own. */
export interface StoredRecord extends LogRecord {
  readonly position: string
}

/** Records of one partition, in order, never empty. */
export interface RecordBatch {
  readonly topic: string
  readonly partition: number
  readonly records: readonly StoredRecord[]
}

/** Sends records. */
export interface Producer {
  /**
   * Resolves when the log has stored all of them. Rejects with a `LogError`: some may be stored then ("unknown" is never
   * "failed"), and the caller sends them again. Calls that must stay in order are awaited one by one.
   */
  send(topic: string, records: readonly LogRecord[]): Promise<void>
}

/** What a consumer reads. */
export interface ConsumerSettings {
  readonly topic: string
  /** Consumers of one group share the partitions; each group gets every record. A new group starts at the beginning. */
  readonly group: string
  /** Most records of one batch. */
  readonly recordsMax?: number
  /** How long `stop` waits for a handler, ms. */
  readonly stopMs?: number
}

/**
 * Handles a batch. The position is kept after it resolves: a batch comes again when it rejects, when the process dies, or
 * when the partition moves meanwhile. A record that can never be handled is the handler's to set aside: until it resolves,
 * its partition waits, and the others go on.
 */
export type BatchHandler = (batch: RecordBatch) => Promise<void>

/** `paused` reads nothing more; a batch in hand is finished. */
export type ConsumerState = 'idle' | 'running' | 'paused' | 'stopping' | 'stopped'

/** Reads the partitions that it owns, at least once, in order. */
export interface Consumer {
  readonly state: ConsumerState
  /** Starts to read, and resolves; a log that is away is tried again until `stop`. May be called once. */
  run(handler: BatchHandler): Promise<void>
  pause(): void
  resume(): void
  /** Finishes the batches in hand, for `stopMs` at most, and hands the partitions over. */
  stop(): Promise<void>
  /** Records of the topic that the group has not handled yet. Rejects with a `LogError` when the log is away. */
  lag(): Promise<number>
  /** Records of a bounded topic that fell before the group handled them. Rejects with a `LogError` when the log is away. */
  dropped(): Promise<number>
}

/**
 * A log: memory, Redis Streams or Kafka. A topic that is not named as bounded loses nothing that a group has not handled: at its limit a
 * send rejects. A bounded one takes what comes, and its oldest records fall.
 */
export interface EventLog {
  producer(): Producer
  consumer(settings: ConsumerSettings): Consumer
  /** Lets go of everything; consumers that still run are stopped first. */
  close(): Promise<void>
}

/** Most records of a batch where a consumer does not say. */
export const BATCH_RECORDS = 500
/** How long `stop` waits for a handler where a consumer does not say, ms. */
export const STOP_MS = 5_000
