import { createKafkaLog, createRedisLog, type EventLog } from '@bigtap/eventlog'
import { CodedError, type Logger } from '@bigtap/kernel'
import type { OrderTopic } from './outbox-relay.ts'

/** The event log that the settings name, and its topic of orders. Throws BAD_EVENTLOG for an unknown kind. */
export function openEventLog(
  { eventLog, redisUrl, kafkaBrokers }: { eventLog: string; redisUrl: string; kafkaBrokers: readonly string[] },
  logger: Logger,
): { topic: OrderTopic; close(): Promise<void> } {
  const log = openLog(eventLog, redisUrl, kafkaBrokers, logger)
  return { topic: log.producer(), close: () => log.close() }
}

function openLog(kind: string, url: string, brokers: readonly string[], logger: Logger): EventLog {
  if (kind === 'redis') return createRedisLog({ url }, { logger })
  if (kind === 'kafka') return createKafkaLog({ brokers }, { logger })
  throw new CodedError({ code: 'BAD_EVENTLOG', message: `BIGTAP_EVENTLOG must be redis or kafka, not ${kind}` })
}
