import { baseSettings, defineSettings, setting, shared } from '@bigtap/runtime'

/** Settings of a Middle node, with units and defaults. */
export const settings = defineSettings({
  ...baseSettings({ name: 'middle', port: 8300 }),
  redisUrl: shared.redisUrl,
  tokenSecret: shared.tokenSecret,
  tokenSecretPrevious: shared.tokenSecretPrevious,
  clusterSecret: shared.clusterSecret,
  routers: shared.routers,
  redisMsMax: setting.durationMs('BIGTAP_MIDDLE_REDIS_MS', { default: 100, doc: 'longest wait for Redis, ms' }),
  recordsMax: setting.int('BIGTAP_MIDDLE_RECORDS_MAX', {
    default: 1_000_000,
    doc: 'grants remembered (61 bytes each); then asks are overloaded',
  }),
  pendingMax: setting.int('BIGTAP_MIDDLE_PENDING_MAX', {
    default: 8_192,
    doc: 'grants waiting to be written; then asks are overloaded',
  }),
  waitingMax: setting.int('BIGTAP_MIDDLE_WAITING_MAX', {
    default: 16_384,
    doc: 'asks waiting for a write or a re-read; then asks are overloaded',
  }),
  rereadsMax: setting.int('BIGTAP_MIDDLE_REREADS_MAX', {
    default: 256,
    doc: 'buyers whose grants are being re-read; then the last known state answers',
  }),
  asksPerFrameMax: setting.int('BIGTAP_MIDDLE_ASKS_PER_FRAME_MAX', {
    default: 4_096,
    doc: 'asks in one frame; a larger one closes its link',
  }),
  queuedPerSecond: setting.int('BIGTAP_MIDDLE_QUEUED_PER_SECOND', {
    default: 1_000,
    doc: 'how often all who wait for one SKU may ask this node, per second; their retryAfterMs follows',
  }),
  linksMax: setting.int('BIGTAP_MIDDLE_LINKS_MAX', { default: 256, doc: 'links of limiters; one more is closed' }),
})
