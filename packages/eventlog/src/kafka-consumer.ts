import { backoffMs, type Logger } from '@bigtap/kernel'
import type { Consumer as Client, EachBatchPayload, Kafka, KafkaMessage } from 'kafkajs'
import { withinTime } from './faults.ts'
import { BATCH_RECORDS, type BatchHandler, type Consumer, type ConsumerSettings, STOP_MS } from './port.ts'
import { deliver, RunState } from './run-state.ts'

const HEARTBEAT_MS = 1_000
const FETCH_WAIT_MS = 100
const RESTART_BASE_MS = 100
const RESTART_MAX_MS = 5_000
/** Partitions that one consumer handles side by side: one that is stuck does not stop the others. */
const CONCURRENT_MAX = 16

/** Records of a topic that a group has not handled: those that are there, and those that the broker has dropped since. */
export interface GroupOffsets {
  readonly lag: number
  readonly dropped: number
}

/** What the log lends to a consumer. */
export interface KafkaConsumerContext {
  readonly kafka: Kafka
  readonly leaseMs: number
  readonly logger: Logger
  readonly offsets: () => Promise<GroupOffsets>
  readonly partitionsOf: (topic: string) => Promise<number>
}

/** A member of a Kafka group. A client that crashed is replaced by a new one for as long as we run. */
export class KafkaConsumer implements Consumer {
  readonly #settings: ConsumerSettings
  readonly #context: KafkaConsumerContext
  readonly #logger: Logger
  readonly #run = new RunState()
  readonly #inHand = new Set<Promise<void>>()
  #client: Client | undefined
  #loop: Promise<void> = Promise.resolve()

  constructor(settings: ConsumerSettings, context: KafkaConsumerContext) {
    this.#settings = settings
    this.#context = context
    this.#logger = context.logger.child({ topic: settings.topic, group: settings.group })
  }

  get state() {
    return this.#run.state
  }

  async run(handler: BatchHandler): Promise<void> {
    this.#run.start()
    this.#loop = this.#keepRunning(handler)
  }

  pause(): void {
    this.#run.pause()
    this.#client?.pause([{ topic: this.#settings.topic }])
  }

  resume(): void {
    this.#run.resume()
    this.#client?.resume([{ topic: this.#settings.topic }])
  }

  async stop(): Promise<void> {
    if (this.#run.hasStopped) return
    this.#run.stopping()
    await withinTime('stopping', this.#settings.stopMs ?? STOP_MS, this.#loop).catch((error: unknown) =>
      this.#logger.warn({ error: String(error) }, 'a consumer did not stop in time'),
    )
    this.#run.stopped()
  }

  async lag(): Promise<number> {
    return (await this.#context.offsets()).lag
  }

  /** Once the group goes on behind the gap, a broker does not tell any more. */
  async dropped(): Promise<number> {
    return (await this.#context.offsets()).dropped
  }

  async #keepRunning(handler: BatchHandler): Promise<void> {
    for (let attempt = 0; this.#run.isLive; attempt++) {
      try {
        await this.#runOnce(handler, () => {
          attempt = 0
        })
      } catch (error) {
        this.#logger.debug({ error: String(error) }, 'kafka consumer failed')
      }
      if (this.#run.isLive)
        await this.#run.wait(backoffMs({ attempt, baseMs: RESTART_BASE_MS, maxMs: RESTART_MAX_MS, draw: 0.5 }))
    }
  }

  /** One client's life: until we stop, or until it crashes. */
  async #runOnce(handler: BatchHandler, onJoined: () => void): Promise<void> {
    const { kafka, leaseMs, partitionsOf } = this.#context
    const { topic, group } = this.#settings
    await partitionsOf(topic)
    const client = kafka.consumer({
      ...{ groupId: group, sessionTimeout: leaseMs, rebalanceTimeout: leaseMs, heartbeatInterval: HEARTBEAT_MS },
      ...{ maxWaitTimeInMs: FETCH_WAIT_MS, allowAutoTopicCreation: false },
      retry: { retries: 3, initialRetryTime: 50, maxRetryTime: 1_000, restartOnFailure: async () => false },
    })
    let hasCrashed = false
    client.on(client.events.CRASH, () => {
      hasCrashed = true
      this.#run.wake()
    })
    client.on(client.events.GROUP_JOIN, onJoined)
    try {
      await client.connect()
      await client.subscribe({ topics: [topic], fromBeginning: true })
      await client.run({
        ...{ autoCommit: false, eachBatchAutoResolve: false, partitionsConsumedConcurrently: CONCURRENT_MAX },
        eachBatch: (payload) => this.#track(this.#handle(client, payload, handler)),
      })
      this.#client = client
      if (this.#run.state === 'paused') client.pause([{ topic }])
      while (this.#run.isLive && !hasCrashed) await this.#run.wait(HEARTBEAT_MS)
      if (!hasCrashed) await Promise.allSettled(this.#inHand) // while we are still a member and may keep positions
    } finally {
      this.#client = undefined
      await client.disconnect()
    }
  }

  #track(handle: Promise<void>): Promise<void> {
    this.#inHand.add(handle)
    return handle.finally(() => this.#inHand.delete(handle))
  }

  async #handle(client: Client, payload: EachBatchPayload, handler: BatchHandler): Promise<void> {
    const { batch, heartbeat, isRunning, isStale, resolveOffset } = payload
    const { topic, partition } = batch
    const beat = setInterval(() => {
      if (this.#run.isLive) heartbeat().catch(() => undefined) // a lost membership shows when the position is kept
    }, HEARTBEAT_MS)
    const delivery = { run: this.#run, handler, logger: this.#logger, isOurs: () => isRunning() && !isStale() }
    try {
      for (const messages of chunks(batch.messages, this.#settings.recordsMax ?? BATCH_RECORDS)) {
        if (this.#run.state !== 'running') return // what was not resolved is fetched again
        const isHandled = await deliver({ topic, partition, records: messages.map(toRecord) }, delivery)
        const last = messages.at(-1)
        if (!isHandled || !last || this.#run.hasStopped) return
        await client.commitOffsets([{ topic, partition, offset: (BigInt(last.offset) + 1n).toString() }])
        resolveOffset(last.offset)
      }
    } finally {
      clearInterval(beat)
    }
  }
}

function toRecord({ key, value, offset }: KafkaMessage) {
  return { key: key?.toString() ?? '', value: value ?? Buffer.alloc(0), position: offset }
}

function chunks<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size))
}
