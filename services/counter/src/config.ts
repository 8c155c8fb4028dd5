/** Settings of the counter. */

import { baseSettings, defineSettings, setting, shared } from '@bigtap/runtime'

/** All settings with their units and defaults. */
export const settings = defineSettings({
  ...baseSettings({ name: 'counter', port: 8400 }),
  redisUrl: shared.redisUrl,
  databaseUrl: shared.databaseUrl,
  clusterSecret: shared.clusterSecret,
  routers: shared.routers,
  eventLog: shared.eventLog,
  kafkaBrokers: shared.kafkaBrokers,
  redisMsMax: setting.durationMs('BIGTAP_REDIS_MS_MAX', { default: 100, doc: 'longest wait for Redis, ms' }),
  waitingMax: setting.int('BIGTAP_COUNTER_WAITING_MAX', {
    default: 16_384,
    doc: 'ledger calls that wait; beyond: unavailable',
  }),
  recentMax: setting.int('BIGTAP_COUNTER_RECENT_MAX', { default: 65_536, doc: 'orders remembered for a rebuild' }),
  targetMs: setting.durationMs('BIGTAP_COUNTER_WAIT_MS_TARGET', {
    default: 50,
    doc: 'ledger calls that wait longer lower the pace of the sales, ms',
  }),
  sweepMs: setting.durationMs('BIGTAP_COUNTER_SWEEP_MS', {
    default: 100,
    doc: 'how often what ran out is given back, ms',
  }),
  relayMs: setting.durationMs('BIGTAP_COUNTER_RELAY_MS', { default: 20, doc: 'how often the outbox is looked at, ms' }),
  verifyMs: setting.durationMs('BIGTAP_COUNTER_VERIFY_MS', { default: 100, doc: 'how often ledgers are verified, ms' }),
})
