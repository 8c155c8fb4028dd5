export { BOUNDED_TOPICS, type BoundedTopics } from './bounded.ts'
export { LogError, type LogFault } from './faults.ts'
export { createKafkaLog, type KafkaLogSettings } from './kafka-log.ts'
export { createMemoryLog, type MemoryLogSettings } from './memory-log.ts'
export { type EventLogChoice, openEventLog } from './open.ts'
export { partitionOf } from './partition.ts'
export type {
  BatchHandler,
  Consumer,
  ConsumerSettings,
  ConsumerState,
  EventLog,
  LogRecord,
  Producer,
  RecordBatch,
  StoredRecord,
} from './port.ts'
export type { RedisLogSettings } from './redis-keys.ts'
export { createRedisLog } from './redis-log.ts'
