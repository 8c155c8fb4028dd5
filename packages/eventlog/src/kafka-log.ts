/** The log on Apache Kafka, through kafkajs. Nothing of kafkajs is seen outside of this file and kafka-consumer.ts. */

import { type Logger, nullLogger } from '@bigtap/kernel'
import { type Admin, Kafka, type Producer as KafkaProducer, logLevel, Partitioners } from 'kafkajs'
import { type BoundedTopics, boundOf } from './bounded.ts'
import { asLogError, checkRecords, LogError, withinTime } from './faults.ts'
import { type GroupOffsets, KafkaConsumer } from './kafka-consumer.ts'
import { byPartition } from './partition.ts'
import type { EventLog, LogRecord } from './port.ts'

/** Where the brokers are, and the limits. */
export interface KafkaLogSettings {
  readonly brokers: readonly string[]
  /** Of a topic that is not there yet; one that is there keeps its own. */
  readonly partitions?: number
  readonly replicas?: number
  /** Most time of a call, ms. */
  readonly timeoutMs?: number
  /** A consumer that is silent for so long loses its partitions, ms. Brokers want 6,000 at least. */
  readonly leaseMs?: number
  /** A topic that is made here and bounded loses what is old or much (below); every other one keeps all. */
  readonly bounded?: BoundedTopics
}

/** A broker bounds by age and bytes, not by records; per partition. One that is not bounded keeps its records for ever. */
const BOUNDED_CONFIG = [
  { name: 'retention.ms', value: '600000' },
  { name: 'retention.bytes', value: '268435456' },
  { name: 'segment.bytes', value: '33554432' },
]
const KEPT_CONFIG = [
  { name: 'retention.ms', value: '-1' },
  { name: 'retention.bytes', value: '-1' },
]

/** Opens the log; connects when it is used. */
export function createKafkaLog(
  { brokers, partitions = 4, replicas = 1, timeoutMs = 5_000, leaseMs = 10_000, bounded = {} }: KafkaLogSettings,
  { logger = nullLogger }: { logger?: Logger } = {},
): EventLog {
  const kafka = new Kafka({
    clientId: 'bigtap',
    brokers: [...brokers],
    connectionTimeout: Math.min(timeoutMs, 2_000),
    requestTimeout: timeoutMs,
    enforceRequestTimeout: true,
    retry: { retries: 3, initialRetryTime: 50, maxRetryTime: 1_000 },
    logLevel: logLevel.WARN,
    logCreator: () => (entry) => logger.debug({ client: entry.namespace, said: entry.log.message }, 'kafka client'),
  })
  const admin = keptOpen<Admin>(() => kafka.admin())
  const producer = keptOpen<KafkaProducer>(() =>
    kafka.producer({ allowAutoTopicCreation: false, createPartitioner: Partitioners.DefaultPartitioner }),
  )
  const topics = new Map<string, number>()
  const partitionsOf = async (topic: string) => {
    const known = topics.get(topic)
    if (known !== undefined) return known
    const isBounded = boundOf(bounded, topic) !== undefined
    const count = await ensureTopic(await admin.open(), { topic, partitions, replicas, timeoutMs, isBounded })
    topics.set(topic, count)
    return count
  }
  const send = async (topic: string, records: readonly LogRecord[]) => {
    checkRecords(records)
    if (records.length === 0) return
    await faultsOf('sending to kafka', timeoutMs, async () => {
      const groups = byPartition(records, await partitionsOf(topic))
      const messages = [...groups].flatMap(([partition, group]) =>
        group.map(({ key, value }) => ({ partition, key, value: asBuffer(value) })),
      )
      await (await producer.open()).send({ topic, acks: -1, timeout: timeoutMs, messages })
    })
  }
  const consumers: KafkaConsumer[] = []
  return {
    producer: () => ({ send }),
    consumer: (settings) => {
      const offsets = () =>
        faultsOf('reading offsets', timeoutMs, async () => {
          await partitionsOf(settings.topic)
          return offsetsOf(await admin.open(), settings.topic, settings.group)
        })
      const consumer = new KafkaConsumer(settings, { kafka, leaseMs, logger, offsets, partitionsOf })
      consumers.push(consumer)
      return consumer
    },
    close: async () => {
      await Promise.all(consumers.map((consumer) => consumer.stop()))
      await Promise.all([admin.close(), producer.close()])
    },
  }
}

/** A client that is connected once, and again when that failed. */
function keptOpen<T extends { connect(): Promise<void>; disconnect(): Promise<void> }>(make: () => T) {
  let opened: Promise<T> | undefined
  let isClosed = false
  const connect = async () => {
    const client = make()
    await client.connect()
    return client
  }
  return {
    async open(): Promise<T> {
      if (isClosed) throw new LogError({ code: 'LOG_CLOSED', message: 'the log is closed' })
      opened ??= connect()
      return opened.catch((error) => {
        opened = undefined
        throw error
      })
    },
    async close(): Promise<void> {
      isClosed = true
      await opened?.then((client) => client.disconnect()).catch(() => undefined)
    },
  }
}

async function faultsOf<T>(what: string, msMax: number, call: () => Promise<T>): Promise<T> {
  try {
    return await withinTime(what, msMax, call())
  } catch (error) {
    throw asLogError(what, error)
  }
}

interface TopicWish {
  readonly topic: string
  readonly partitions: number
  readonly replicas: number
  readonly timeoutMs: number
  readonly isBounded: boolean
}

/** Makes the topic where it is not there, and says how many partitions it has. */
async function ensureTopic(admin: Admin, wanted: TopicWish): Promise<number> {
  const { topic, partitions, replicas, timeoutMs, isBounded } = wanted
  const configEntries = isBounded ? BOUNDED_CONFIG : KEPT_CONFIG
  const wish = { topic, numPartitions: partitions, replicationFactor: replicas, configEntries }
  await admin.createTopics({ topics: [wish], waitForLeaders: true, timeout: timeoutMs })
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  return topics[0]?.partitions.length ?? partitions
}

/** By partition: what is not handled and still there, and what the broker dropped before it was. */
async function offsetsOf(admin: Admin, topic: string, group: string): Promise<GroupOffsets> {
  const ends = await admin.fetchTopicOffsets(topic)
  const kept = (await admin.fetchOffsets({ groupId: group, topics: [topic] }))[0]?.partitions ?? []
  let [lag, dropped] = [0, 0]
  for (const { partition, high, low } of ends) {
    const position = Number(kept.find((one) => one.partition === partition)?.offset ?? -1)
    lag += Number(high) - Math.max(position, Number(low))
    if (position >= 0) dropped += Math.max(0, Number(low) - position)
  }
  return { lag, dropped }
}

function asBuffer(value: Uint8Array): Buffer {
  return Buffer.from(value.buffer, value.byteOffset, value.length)
}
