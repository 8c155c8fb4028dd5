export { type KafkaOptions, kafkaObstacle, startKafka } from './kafka.ts'
export { findPostgres, type PostgresOptions, startPostgres } from './postgres.ts'
export { accepts, type Engine, freePort } from './process.ts'
export { findRedis, type RedisOptions, startRedis } from './redis.ts'
