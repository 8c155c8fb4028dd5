/**
 * The log on Redis Streams: one stream per partition. Each partition is read by one consumer of a group (by lease), since a
 * stream's own consumer groups would deal records of one key to several. A position is one field, written with a check that
 * the partition is still ours and stands where we read from. Redis emptied: no positions, no owners; consumers claim again
 * and start at the beginning. How safe a stored record is, is the server's `appendfsync`.
 */

import { type Logger, nullLogger } from '@bigtap/kernel'
import type { Redis } from 'ioredis'
import { boundOf } from './bounded.ts'
import { checkRecords } from './faults.ts'
import { byPartition } from './partition.ts'
import type { EventLog, LogRecord } from './port.ts'
import { connectRedis, readScript, runScript, untilReady } from './redis-connection.ts'
import { RedisConsumer } from './redis-consumer.ts'
import { droppedKey, positionsKey, type RedisLogLimits, type RedisLogSettings, streamKey } from './redis-keys.ts'

const APPEND = readScript('append-1')
const APPEND_BOUNDED = readScript('append-bounded-3')

/** Opens the log; connects in the background. */
export function createRedisLog(
  settings: RedisLogSettings,
  { logger = nullLogger }: { logger?: Logger } = {},
): EventLog {
  const limits: RedisLogLimits = {
    ...{ partitions: 4, timeoutMs: 1_000, leaseMs: 6_000, recordsMax: 1_000_000, recordsKept: 10_000 },
    bounded: {},
    ...settings,
  }
  const consumers: RedisConsumer[] = []
  let connection: Redis | undefined
  const connected = async () => {
    connection ??= connectRedis(limits.url, limits.timeoutMs, logger)
    await untilReady(connection, limits.timeoutMs)
    return connection
  }
  const send = async (topic: string, records: readonly LogRecord[]) => {
    checkRecords(records)
    const redis = await connected()
    const bound = boundOf(limits.bounded, topic)
    const sends = [...byPartition(records, limits.partitions)].map(([partition, group]) => {
      const pairs = group.flatMap(({ key, value }) => [key, Buffer.from(value.buffer, value.byteOffset, value.length)])
      const stream = streamKey(topic, partition)
      if (bound === undefined) return runScript(redis, APPEND, [stream], [limits.recordsMax, ...pairs])
      const keys = [stream, positionsKey(topic, partition), droppedKey(topic, partition)]
      return runScript(redis, APPEND_BOUNDED, keys, [bound, ...pairs])
    })
    const failed = (await Promise.allSettled(sends)).find((result) => result.status === 'rejected')
    if (failed) throw failed.reason
  }
  return {
    producer: () => ({ send }),
    consumer: (consumerSettings) => {
      const consumer = new RedisConsumer(consumerSettings, { limits, logger })
      consumers.push(consumer)
      return consumer
    },
    close: async () => {
      await Promise.all(consumers.map((consumer) => consumer.stop()))
      connection?.disconnect()
    },
  }
}
