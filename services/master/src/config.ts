import { baseSettings, defineSettings, setting, shared } from '@bigtap/runtime'

/** Settings of master, with units and defaults. */
export const settings = defineSettings({
  ...baseSettings({ name: 'master', port: 8090 }),
  redisUrl: shared.redisUrl,
  databaseUrl: shared.databaseUrl,
  tokenSecret: shared.tokenSecret,
  clusterSecret: shared.clusterSecret,
  routers: shared.routers,
  operatorPassword: setting.secret('BIGTAP_OPERATOR_PASSWORD', {
    default: 'bigtap-development-operator',
    doc: 'password of `operator`',
  }),
  operators: setting.optionalSecret('BIGTAP_OPERATORS', {
    doc: 'more accounts: `name:role:<salt hex>.<scrypt hash hex>`, comma-separated; role viewer, operator or admin',
  }),
  preloadMs: setting.durationMs('BIGTAP_MASTER_PRELOAD_MS', {
    default: 60_000,
    doc: 'how long before its opening a sale is preloaded, ms',
  }),
  confirmUnits: setting.int('BIGTAP_MASTER_CONFIRM_UNITS', {
    default: 10_000,
    doc: 'a change of stock above this many units needs the yes of a second account',
  }),
  consoleDir: setting.optional('BIGTAP_CONSOLE_DIR', {
    doc: 'folder of the console; without it the one beside this service',
  }),
})
