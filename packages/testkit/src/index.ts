export { type Engine, freePort, kafkaObstacle, startKafka, startPostgres, startRedis } from '@bigtap/engines'
export { FakeClock } from './fake-clock.ts'
export { SeededRandom } from './seeded-random.ts'
export { waitFor } from './wait-for.ts'
