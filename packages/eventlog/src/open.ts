import { CodedError, type Logger } from '@bigtap/kernel'
import { BOUNDED_TOPICS } from './bounded.ts'
import { createKafkaLog } from './kafka-log.ts'
import type { EventLog } from './port.ts'
import { createRedisLog } from './redis-log.ts'

/** The settings by which a log is chosen. */
export interface EventLogChoice {
  readonly eventLog: string
  readonly redisUrl: string
  readonly kafkaBrokers: readonly string[]
}

/** The event log that the settings name; throws BAD_EVENTLOG for an unknown kind. */
export function openEventLog(
  { eventLog, redisUrl, kafkaBrokers }: EventLogChoice,
  parts: { logger: Logger },
): EventLog {
  if (eventLog === 'redis') return createRedisLog({ url: redisUrl, bounded: BOUNDED_TOPICS }, parts)
  if (eventLog === 'kafka') return createKafkaLog({ brokers: kafkaBrokers, bounded: BOUNDED_TOPICS }, parts)
  throw new CodedError({ code: 'BAD_EVENTLOG', message: `BIGTAP_EVENTLOG must be redis or kafka, not ${eventLog}` })
}
