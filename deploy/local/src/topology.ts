/** Which processes make up the local platform, on which ports, with which settings. Pure. */

import type { StartOptions } from './args.ts'

/** One process of the platform. `entry` is a path below the root of the repository. */
export interface ProcessSpec {
  readonly name: string
  readonly role: string
  readonly entry: string
  readonly port: number
  readonly opsPort: number
  readonly env: Readonly<Record<string, string>>
}

/** Ports of the local platform (2-contracts): everything moves with the base. */
export interface Ports {
  readonly origin: number
  readonly limiters: readonly number[]
  /** Where limiters answer the pulls of dcacenter. */
  readonly limiterLinks: readonly number[]
  readonly cart: number
  readonly order: number
  readonly masters: readonly number[]
  readonly routers: readonly number[]
  readonly dcacenter: number
  readonly middles: readonly number[]
  readonly counter: number
  readonly antiblack: number
  readonly redis: number
  readonly postgres: number
  readonly kafka: number
}

/** Where the engines answer. */
export interface EngineUrls {
  readonly redis: string
  readonly postgres: string
  readonly kafka: string | undefined
}

/** Secrets of one run; drawn at start, never printed but for the two passwords. */
export interface RunSecrets {
  readonly token: string
  readonly cluster: string
  readonly payment: string
  readonly operatorPassword: string
  /** Of `admin`, who may also force, reset and clear. */
  readonly adminPassword: string
}

/** A service's operations port is its port + 1000. */
export const OPS_OFFSET = 1000

/**
 * Buyers, services and engines share the cores of one machine, so a call may stand behind all of them: calls get longer
 * than the 100 ms of a real network, and those who wait are told to come back less often.
 */
const ONE_MACHINE = {
  BIGTAP_REDIS_MS_MAX: '1000',
  BIGTAP_MIDDLE_REDIS_MS: '1000',
  BIGTAP_CART_DEADLINE_MS: '2000',
  BIGTAP_ORDER_DEADLINE_MS: '2000',
  BIGTAP_ORDER_DATABASE_WAIT_MS: '3000',
  BIGTAP_MIDDLE_QUEUED_PER_SECOND: '20',
  BIGTAP_COUNTER_WAIT_MS_TARGET: '1000',
  BIGTAP_CART_CALL_MS_TARGET: '1500',
  BIGTAP_ORDER_AGE_MS_TARGET: '60000',
}

/** Lays the ports out from the base. */
export function portsOf({ portBase, limiters, middles, masters, routers }: StartOptions): Ports {
  const series = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index)
  return {
    origin: portBase,
    limiters: series(portBase + 10, limiters),
    limiterLinks: series(portBase + 510, limiters),
    cart: portBase + 20,
    order: portBase + 30,
    masters: series(portBase + 90, masters),
    dcacenter: portBase + 100,
    routers: series(portBase + 200, routers),
    middles: series(portBase + 300, middles),
    counter: portBase + 400,
    antiblack: portBase + 600,
    redis: portBase + 379,
    postgres: portBase + 432,
    kafka: portBase + 492,
  }
}

/** Every port that must be free before the start, with the name of who will hold it. */
export function portClaims(ports: Ports, kafka: boolean): Map<number, string> {
  const claims = new Map<number, string>()
  const claim = (port: number, name: string) => claims.set(port, name)
  const withOps = (port: number, name: string) => claim(port, name) && claim(port + OPS_OFFSET, `${name} operations`)
  withOps(ports.origin, 'public origin')
  for (const [index, port] of ports.limiters.entries()) withOps(port, `limiter-${index + 1}`)
  for (const [index, port] of ports.middles.entries()) withOps(port, `middle-${index + 1}`)
  withOps(ports.cart, 'cart')
  withOps(ports.order, 'order')
  for (const [index, port] of ports.masters.entries()) withOps(port, `master-${index + 1}`)
  for (const [index, port] of ports.routers.entries()) withOps(port, `router-${index + 1}`)
  for (const [index, port] of ports.limiterLinks.entries()) claim(port, `limiter-${index + 1} links`)
  withOps(ports.dcacenter, 'dcacenter')
  withOps(ports.counter, 'counter')
  withOps(ports.antiblack, 'antiblack')
  claim(ports.redis, 'redis')
  claim(ports.postgres, 'postgres')
  if (kafka) claim(ports.kafka, 'kafka')
  return claims
}

/**
 * The processes in the order of their start: from the inside out; they stop in the reverse order. `more` are settings
 * of this run for all of them.
 */
export function processesOf(
  ports: Ports,
  urls: EngineUrls,
  secrets: RunSecrets,
  more: Readonly<Record<string, string>> = {},
): ProcessSpec[][] {
  const base = { ...baseEnv(ports, urls, secrets), ...more }
  const spec = (name: string, role: string, port: number, env: Record<string, string> = {}): ProcessSpec => ({
    name,
    role,
    entry: `services/${role}/dist/main.js`,
    port,
    opsPort: port + OPS_OFFSET,
    env: { ...base, ...env, BIGTAP_NODE_ID: name, BIGTAP_PORT: `${port}`, BIGTAP_OPS_PORT: `${port + OPS_OFFSET}` },
  })
  const many = (role: string, list: readonly number[], name = role) =>
    list.map((port, index) => ({ ...spec(`${name}-${index + 1}`, role, port), role: name }))
  const front = spec('front', 'front', ports.origin, {
    BIGTAP_FRONT_LIMITERS: ports.limiters.map((port) => `127.0.0.1:${port}`).join(','),
    BIGTAP_FRONT_CART: `127.0.0.1:${ports.cart}`,
    BIGTAP_FRONT_ORDER: `127.0.0.1:${ports.order}`,
  })
  return [
    [
      ...many('master', ports.masters),
      ...many('mdw-router', ports.routers, 'router'),
      spec('dcacenter', 'dcacenter', ports.dcacenter),
    ],
    [
      spec('counter', 'counter', ports.counter),
      spec('order', 'order', ports.order),
      spec('antiblack', 'antiblack', ports.antiblack),
    ],
    many('middle', ports.middles),
    [spec('cart', 'cart', ports.cart), { ...front, entry: 'deploy/local/dist/front.js' }],
    [...ports.limiters.entries()].map(([index, port]) =>
      spec(`limiter-${index + 1}`, 'limiter', port, { BIGTAP_LIMITER_LINK_PORT: `${ports.limiterLinks[index]}` }),
    ),
  ]
}

function baseEnv(ports: Ports, urls: EngineUrls, secrets: RunSecrets): Record<string, string> {
  return {
    BIGTAP_DEV: 'on',
    BIGTAP_DEV_LOGIN: 'on',
    BIGTAP_PARENT: 'on',
    BIGTAP_HOST: '127.0.0.1',
    BIGTAP_REDIS_URL: urls.redis,
    BIGTAP_DATABASE_URL: urls.postgres,
    BIGTAP_EVENTLOG: urls.kafka === undefined ? 'redis' : 'kafka',
    ...(urls.kafka === undefined ? {} : { BIGTAP_KAFKA_BROKERS: urls.kafka }),
    BIGTAP_TOKEN_SECRET: secrets.token,
    BIGTAP_CLUSTER_SECRET: secrets.cluster,
    BIGTAP_PAYMENT_SECRET: secrets.payment,
    BIGTAP_OPERATOR_PASSWORD: secrets.operatorPassword,
    BIGTAP_ADMIN_PASSWORD: secrets.adminPassword,
    BIGTAP_TRUSTED_PROXIES: '127.0.0.1',
    ...ONE_MACHINE,
    BIGTAP_COUNTER_ADDRESS: `127.0.0.1:${ports.counter}`,
    BIGTAP_ROUTERS: ports.routers.map((port) => `127.0.0.1:${port}`).join(','),
    BIGTAP_DCACENTER_URL: `redis://127.0.0.1:${ports.dcacenter}`,
    BIGTAP_PUBLIC_ORIGIN: `http://127.0.0.1:${ports.origin}`,
  }
}
