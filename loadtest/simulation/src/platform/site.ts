/** Where the simulated platform stands: world, network, servers, and what all processes are given. */

import type { ActivityDoc, SkuDoc } from '@bigtap/domain'
import { type Clock, type Logger, type Metrics, nullLogger, nullMetrics, type Random } from '@bigtap/kernel'
import type { KeyRing } from '@bigtap/token'
import type { createDialer } from '@bigtap/transport'
import type { Omissions } from '../redis/script-call.ts'
import type { LinkHub } from '../world/links.ts'
import type { Network } from '../world/network.ts'
import type { SimProcess } from '../world/process.ts'
import type { RedisHost } from '../world/redis-host.ts'
import type { World } from '../world/world.ts'
import type { EventLogHost } from './event-log-host.ts'
import type { Oracle } from './oracle.ts'
import type { RecordHost } from './record-host.ts'

/** What is left out on purpose; see docs/SIMULATION.md. */
export interface Mistakes extends Omissions {
  /** Middle answers a grant before its log was written. */
  readonly logBeforeReply: boolean
}

/** Nothing is wrong on purpose. */
export const NO_MISTAKES: Mistakes = {
  fencing: false,
  idempotency: false,
  slotOwner: false,
  turns: false,
  logBeforeReply: false,
}

/** The sale that is simulated. */
export interface SimSale {
  readonly activity: ActivityDoc
  readonly skus: readonly SkuDoc[]
}

/** All that a process is started with. */
export interface Site {
  readonly world: World
  readonly network: Network
  readonly redis: RedisHost
  readonly hub: LinkHub
  readonly record: RecordHost
  readonly eventLog: EventLogHost
  readonly ring: KeyRing
  readonly sale: SimSale
  readonly mistakes: Mistakes
  readonly oracle: Oracle
}

/** What a service finds in its context. */
export interface Context {
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: Metrics
  readonly dial: typeof createDialer
}

/** The context of a process; warnings and errors go to the world's log. */
export function contextOf({ world, hub }: Site, process: SimProcess): Context {
  const say = (level: string) => (fields: Record<string, unknown>, message: string) =>
    world.note(`${process.id} ${level}: ${message} ${JSON.stringify(fields)}`)
  const logger: Logger = {
    ...nullLogger,
    info: say('info'),
    warn: say('warn'),
    error: say('error'),
    child: () => logger,
  }
  const { clock, random } = process
  return { clock, random, logger, metrics: nullMetrics, dial: hub.dialerOf(process) }
}

/** Longest wait of a service for Redis, ms: the default of their settings. */
export const REDIS_MS = 100
/** Where the routers listen. */
export const ROUTER_ADDRESSES: readonly string[] = ['mdwrouter-1:8000', 'mdwrouter-2:8000']
/** Address of a process: its host and one port. */
export const addressOf = (id: string) => `${id}:8000`
