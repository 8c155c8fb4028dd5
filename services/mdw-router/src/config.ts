/** Settings of mdw-router. */

import { baseSettings, defineSettings, setting, shared } from '@bigtap/runtime'

/** All settings with their units and defaults. */
export const settings = defineSettings({
  ...baseSettings({ name: 'mdw-router', port: 8200 }),
  redisUrl: shared.redisUrl,
  clusterSecret: shared.clusterSecret,
  linksMax: setting.int('BIGTAP_ROUTER_LINKS_MAX', {
    default: 1_024,
    doc: 'links of fronts and masters; one more is closed',
  }),
})
