/** Settings of the limiter. */

import { baseSettings, defineSettings, setting, shared } from '@bigtap/runtime'
import { TICKET_MS_MAX } from '@bigtap/token'
import { CONNECTIONS_MAX } from './edge/cap-of.ts'
import { trustedProxies } from './trusted-proxies.ts'

/** The limiter's settings, with units and defaults. */
export const settings = defineSettings({
  ...baseSettings({ name: 'limiter', port: 8010 }),
  redisUrl: shared.redisUrl,
  tokenSecret: shared.tokenSecret,
  tokenSecretPrevious: shared.tokenSecretPrevious,
  clusterSecret: shared.clusterSecret,
  routers: shared.routers,
  publicOrigin: shared.publicOrigin,
  eventLog: shared.eventLog,
  kafkaBrokers: shared.kafkaBrokers,
  accessLog: setting.boolean('BIGTAP_LIMITER_ACCESS_LOG', {
    default: true,
    doc: 'write what became of requests to topic access',
  }),
  verdictsMax: setting.int('BIGTAP_LIMITER_VERDICTS_MAX', {
    default: 200_000,
    doc: 'verdicts about abuse that are known at a time, some 300 bytes each; beyond: graded without',
  }),
  statsPort: setting.port('BIGTAP_LIMITER_LINK_PORT', {
    default: 8510,
    doc: 'port of links: where dcacenter asks for figures',
  }),
  edge: {
    ...setting.string('BIGTAP_EDGE', {
      default: 'auto',
      doc: 'HTTP edge: auto (uWebSockets.js where it is native, else node:http), uws or node',
    }),
    read: readEdge,
  },
  devLogin: setting.boolean('BIGTAP_DEV_LOGIN', { default: false, doc: 'sessions for any uid, without a proof' }),
  trustedProxies: {
    ...setting.list('BIGTAP_TRUSTED_PROXIES', {
      default: [],
      doc: 'addresses and networks whose X-Forwarded-For is believed',
    }),
    read: readProxies,
  },
  jwksUrl: setting.string('BIGTAP_JWKS_URL', { default: '', doc: "keys of the shop's identity provider" }),
  jwtIssuer: setting.string('BIGTAP_JWT_ISSUER', { default: '', doc: 'issuer of its tokens' }),
  jwtAudience: setting.string('BIGTAP_JWT_AUDIENCE', { default: '', doc: 'audience of its tokens' }),
  asksMax: {
    ...setting.int('BIGTAP_LIMITER_ASKS_MAX', { default: 16_384, doc: 'asks that wait for Middle (1 to 65,535)' }),
    read: readAsksMax,
  },
  connectionsMax: setting.int('BIGTAP_LIMITER_ADDRESS_CONNECTIONS', {
    default: CONNECTIONS_MAX,
    doc: 'connections of one address (trusted proxies: any number); a sixteenth for one that antiblack grades 3 or worse',
  }),
  askMsMax: setting.durationMs('BIGTAP_LIMITER_ASK_MS', { default: 100, doc: 'time that an ask waits for Middle' }),
  profileFile: setting.string('BIGTAP_LIMITER_PROFILE_FILE', {
    default: '',
    doc: 'offline profile: a file of uid,tier or {"uid","tier"} lines, read again when it changes; empty: none',
  }),
  sessionMs: setting.durationMs('BIGTAP_SESSION_MS', { default: 43_200_000, doc: 'life of a session' }),
  ticketMs: {
    ...setting.durationMs('BIGTAP_TICKET_MS', { default: 60_000, doc: 'life of a hidden purchase path, at most 1 h' }),
    read: readTicketMs,
  },
})

function readEdge(text: string): string {
  if (['auto', 'uws', 'node'].includes(text)) return text
  throw new Error('auto, uws or node')
}

function readProxies(text: string): string[] {
  const list = text.split(',').filter((item) => item.trim() !== '')
  trustedProxies(list)
  return list
}

function readAsksMax(text: string): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (value >= 1 && value <= 65_535) return value
  throw new Error('a whole number from 1 to 65535')
}

/** A longer life than that is taken for a forged ticket. */
function readTicketMs(text: string): number {
  const value = /^\d{1,7}$/.test(text) ? Number(text) : 0
  if (value >= 1_000 && value <= TICKET_MS_MAX) return value
  throw new Error(`milliseconds from 1000 to ${TICKET_MS_MAX}`)
}
