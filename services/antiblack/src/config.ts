/** Settings of antiblack. */

import { baseSettings, defineSettings, setting, shared } from '@bigtap/runtime'

/** All settings with their units and defaults. */
export const settings = defineSettings({
  ...baseSettings({ name: 'antiblack', port: 8600 }),
  redisUrl: shared.redisUrl,
  clusterSecret: shared.clusterSecret,
  routers: shared.routers,
  eventLog: shared.eventLog,
  kafkaBrokers: shared.kafkaBrokers,
  redisMsMax: setting.durationMs('BIGTAP_REDIS_MS_MAX', { default: 100, doc: 'longest wait for Redis, ms' }),
  tickMs: setting.durationMs('BIGTAP_ANTIBLACK_TICK_MS', { default: 100, doc: 'how often verdicts are given, ms' }),
  staleMs: setting.durationMs('BIGTAP_ANTIBLACK_STALE_MS', {
    default: 3_000,
    doc: 'requests that are read later are caught up with for two seconds, then passed over up to those of now, ms',
  }),
  batchMax: setting.int('BIGTAP_ANTIBLACK_BATCH_MAX', { default: 200, doc: 'records of the request log in one read' }),
  outboxMax: setting.int('BIGTAP_ANTIBLACK_OUTBOX_MAX', {
    default: 20_000,
    doc: 'verdicts that wait while Redis is away; the oldest falls',
  }),
  standingMax: setting.int('BIGTAP_ANTIBLACK_STANDING_MAX', {
    default: 200_000,
    doc: 'verdicts in force that are remembered, so that none is said twice',
  }),
  mercyMs: setting.durationMs('BIGTAP_ANTIBLACK_MERCY_MS', {
    default: 600_000,
    doc: 'how long one whose verdict an operator has lifted is not judged again, ms',
  }),
  recordFile: setting.optional('BIGTAP_ANTIBLACK_RECORD', {
    doc: 'file to which the request log is copied, for training; without it nothing is copied',
  }),
  recordBytesMax: setting.int('BIGTAP_ANTIBLACK_RECORD_BYTES_MAX', {
    default: 268_435_456,
    doc: 'size at which that file is full; nothing more is copied then',
  }),
})
