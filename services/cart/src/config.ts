import { baseSettings, defineSettings, setting, shared } from '@bigtap/runtime'

/** Settings of the cart, with units and defaults. */
export const settings = defineSettings({
  ...baseSettings({ name: 'cart', port: 8020 }),
  redisUrl: shared.redisUrl,
  tokenSecret: shared.tokenSecret,
  tokenSecretPrevious: shared.tokenSecretPrevious,
  clusterSecret: shared.clusterSecret,
  routers: shared.routers,
  counterAddress: shared.counterAddress,
  deadlineMs: setting.durationMs('BIGTAP_CART_DEADLINE_MS', {
    default: 100,
    doc: 'longest wait for the counter, ms; then 503 and the buyer repeats the token',
  }),
  targetMs: setting.durationMs('BIGTAP_CART_CALL_MS_TARGET', {
    default: 100,
    doc: 'ledger calls that take longer lower the pace of the sales, ms',
  }),
  callsMax: setting.int('BIGTAP_CART_CALLS_MAX', { default: 4_096, doc: 'ledger calls in flight; then 503' }),
  mergeMax: setting.int('BIGTAP_CART_MERGE_MAX', { default: 128, doc: 'ledger calls in one frame' }),
  connectionsMax: setting.int('BIGTAP_CART_CONNECTIONS_MAX', { default: 16_384, doc: 'connections of clients' }),
})
