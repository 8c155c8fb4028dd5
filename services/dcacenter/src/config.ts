/** Settings of dcacenter. */

import { baseSettings, defineSettings, setting, shared } from '@bigtap/runtime'

/** All settings with their units and defaults. */
export const settings = defineSettings({
  ...baseSettings({ name: 'dcacenter', port: 8100 }),
  redisUrl: shared.redisUrl,
  clusterSecret: shared.clusterSecret,
  pullMs: setting.durationMs('BIGTAP_DCACENTER_PULL_MS', {
    default: 1_000,
    doc: 'how often every limiter and Middle node is asked for its figures, ms; widens by itself with many nodes',
  }),
  password: setting.optionalSecret('BIGTAP_DCACENTER_PASSWORD', {
    doc: 'password that clients of the Redis protocol must give (AUTH); without it everybody who reaches the port may read',
  }),
})
