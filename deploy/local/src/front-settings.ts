/** Settings of the local front. */

import { baseSettings, defineSettings, setting } from '@bigtap/runtime'

/** Ports, the services behind, and the front's limits. */
export const settings = defineSettings({
  ...baseSettings({ name: 'front', port: 8000 }),
  limiters: setting.list('BIGTAP_FRONT_LIMITERS', { default: ['127.0.0.1:8010'], doc: 'limiter processes, host:port' }),
  cart: setting.string('BIGTAP_FRONT_CART', { default: '127.0.0.1:8020', doc: 'cart, host:port' }),
  order: setting.string('BIGTAP_FRONT_ORDER', { default: '127.0.0.1:8030', doc: 'order, host:port' }),
  connectionsMax: setting.int('BIGTAP_FRONT_CONNECTIONS', { default: 256, doc: 'connections to each process behind' }),
  bodyBytesMax: setting.int('BIGTAP_FRONT_BODY_BYTES', { default: 65_536, doc: 'largest request body, bytes' }),
  answerMsMax: setting.durationMs('BIGTAP_FRONT_ANSWER_MS', { default: 10_000, doc: 'longest wait for a service, ms' }),
})
