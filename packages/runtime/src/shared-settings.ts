/** Settings that several services share; their names are fixed (docs/SETTINGS.md). */

import { setting } from './settings.ts'

/** What every service has: its id, addresses and log level. */
export function baseSettings({ name, port }: { name: string; port: number }) {
  return {
    dev: setting.boolean('BIGTAP_DEV', { default: false, doc: 'development: default secrets are allowed' }),
    nodeId: setting.string('BIGTAP_NODE_ID', {
      default: `${name}-1`,
      doc: 'name of this process, unique in the platform',
    }),
    host: setting.string('BIGTAP_HOST', { default: '127.0.0.1', doc: 'address to listen on' }),
    address: setting.string('BIGTAP_ADDRESS', {
      default: '',
      doc: 'host name or address at which other nodes reach this one; empty: BIGTAP_HOST',
    }),
    port: setting.port('BIGTAP_PORT', { default: port, doc: 'port to listen on' }),
    opsPort: setting.port('BIGTAP_OPS_PORT', {
      default: port + 1000,
      doc: 'operations port: /healthz /readyz /metrics /debug/config',
    }),
    logLevel: setting.string('BIGTAP_LOG_LEVEL', { default: 'info', doc: 'debug, info, warn or error' }),
  }
}

/** Declarations of shared settings, taken one by one. */
export const shared = {
  redisUrl: setting.string('BIGTAP_REDIS_URL', {
    default: 'redis://127.0.0.1:8379',
    doc: 'Redis of ledger and catalog',
  }),
  databaseUrl: setting.string('BIGTAP_DATABASE_URL', { doc: 'PostgreSQL connection URL' }),
  tokenSecret: setting.secret('BIGTAP_TOKEN_SECRET', {
    default: 'bigtap-development-token-secret',
    doc: 'key of sessions, tickets and tokens',
  }),
  tokenSecretPrevious: setting.optionalSecret('BIGTAP_TOKEN_SECRET_PREVIOUS', {
    doc: 'the key before, still accepted',
  }),
  clusterSecret: setting.secret('BIGTAP_CLUSTER_SECRET', {
    default: 'bigtap-development-cluster-secret',
    doc: 'proof between services on their links',
  }),
  paymentSecret: setting.secret('BIGTAP_PAYMENT_SECRET', {
    default: 'bigtap-development-payment-secret',
    doc: 'key of payment callbacks',
  }),
  eventLog: setting.string('BIGTAP_EVENTLOG', { default: 'redis', doc: 'redis or kafka' }),
  kafkaBrokers: setting.list('BIGTAP_KAFKA_BROKERS', { default: [], doc: 'host:port of the brokers' }),
  counterAddress: setting.string('BIGTAP_COUNTER_ADDRESS', { default: '127.0.0.1:8400', doc: 'counter, host:port' }),
  routers: setting.list('BIGTAP_ROUTERS', {
    default: ['127.0.0.1:8200'],
    doc: 'mdw-router processes, host:port; every front links to all of them',
  }),
  dcacenterUrl: setting.string('BIGTAP_DCACENTER_URL', {
    default: 'redis://127.0.0.1:8100',
    doc: 'dcacenter, which speaks the Redis protocol',
  }),
  publicOrigin: setting.string('BIGTAP_PUBLIC_ORIGIN', {
    default: 'http://127.0.0.1:8000',
    doc: 'where buyers reach the shop',
  }),
}
