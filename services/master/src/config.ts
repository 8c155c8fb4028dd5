import { baseSettings, defineSettings, setting, shared } from '@bigtap/runtime'

/** Settings of master, with units and defaults. */
export const settings = defineSettings({
  ...baseSettings({ name: 'master', port: 8090 }),
  redisUrl: shared.redisUrl,
  databaseUrl: shared.databaseUrl,
  tokenSecret: shared.tokenSecret,
  clusterSecret: shared.clusterSecret,
  routers: shared.routers,
  eventLog: shared.eventLog,
  kafkaBrokers: shared.kafkaBrokers,
  dcacenterUrl: shared.dcacenterUrl,
  operatorPassword: setting.secret('BIGTAP_OPERATOR_PASSWORD', {
    default: 'bigtap-development-operator',
    doc: 'password of `operator`',
  }),
  adminPassword: setting.optionalSecret('BIGTAP_ADMIN_PASSWORD', {
    doc: 'password of `admin`, who may also force, reset, clear records and let rules act alone; without it there is none',
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
  warehouse: setting.string('BIGTAP_WAREHOUSE', {
    default: 'postgres',
    doc: 'where the stock comes from: postgres (table warehouse_stock), off, or the http(s) address of an endpoint',
  }),
  warehouseToken: setting.optionalSecret('BIGTAP_WAREHOUSE_TOKEN', {
    doc: 'bearer token for a warehouse behind HTTP',
  }),
  alertWebhook: setting.optionalSecret('BIGTAP_ALERT_WEBHOOK', {
    doc: 'address that is told of every alarm (POST, JSON)',
  }),
  consoleDir: setting.optional('BIGTAP_CONSOLE_DIR', {
    doc: 'folder of the console; without it the one beside this service',
  }),
})
