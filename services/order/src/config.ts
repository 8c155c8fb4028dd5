import { baseSettings, defineSettings, setting, shared } from '@bigtap/runtime'

/** Settings of the order service, with units and defaults. */
export const settings = defineSettings({
  ...baseSettings({ name: 'order', port: 8030 }),
  redisUrl: shared.redisUrl,
  databaseUrl: shared.databaseUrl,
  eventLog: shared.eventLog,
  kafkaBrokers: shared.kafkaBrokers,
  tokenSecret: shared.tokenSecret,
  tokenSecretPrevious: shared.tokenSecretPrevious,
  clusterSecret: shared.clusterSecret,
  routers: shared.routers,
  paymentSecret: shared.paymentSecret,
  counterAddress: shared.counterAddress,
  publicOrigin: shared.publicOrigin,
  databaseWaitMs: setting.durationMs('BIGTAP_ORDER_DATABASE_WAIT_MS', {
    default: 1_000,
    doc: 'longest wait for one of the connections to PostgreSQL, ms',
  }),
  deadlineMs: setting.durationMs('BIGTAP_ORDER_DEADLINE_MS', {
    default: 100,
    doc: 'longest wait for the counter, ms; then 503',
  }),
  callsMax: setting.int('BIGTAP_ORDER_CALLS_MAX', { default: 4_096, doc: 'ledger calls in flight; then 503' }),
  redisMsMax: setting.durationMs('BIGTAP_REDIS_MS_MAX', { default: 100, doc: 'longest wait for Redis, ms' }),
  targetMs: setting.durationMs('BIGTAP_ORDER_AGE_MS_TARGET', {
    default: 10_000,
    doc: 'order events that are stored later than this lower the pace of the sales, ms',
  }),
  batchMax: setting.int('BIGTAP_ORDER_BATCH_MAX', { default: 500, doc: 'events stored in one batch' }),
  reconcileMs: setting.durationMs('BIGTAP_ORDER_RECONCILE_MS', {
    default: 10_000,
    doc: 'how often ledger and PostgreSQL are compared, ms',
  }),
  refundMs: setting.durationMs('BIGTAP_ORDER_REFUND_MS', {
    default: 1_000,
    doc: 'how often refunds are looked for, ms',
  }),
  refundAfterMs: setting.durationMs('BIGTAP_ORDER_REFUND_AFTER_MS', {
    default: 5_000,
    doc: 'how long the sandbox takes for a refund, ms',
  }),
  connectionsMax: setting.int('BIGTAP_ORDER_CONNECTIONS_MAX', { default: 16_384, doc: 'connections of clients' }),
})
