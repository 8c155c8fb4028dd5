/** What limiter, Middle, cart, counter and order have in common: mirror, links to the routers, heartbeat. */

import type { Clock, Logger, Metrics, Random } from '@bigtap/kernel'
import type { AbuseVerdictBatch } from '@bigtap/protocol'
import { CatalogStore, heartbeatLoop, type NodeState, Nodes, type Store } from '@bigtap/store'
import type { createDialer } from '@bigtap/transport'
import { type CallHandler, FrontLinks } from './front-links.ts'
import { LoopDelay } from './loop-delay.ts'
import { Mirror } from './mirror.ts'

/** Settings of a front; a service's own have these names. */
export interface FrontSettings {
  readonly nodeId: string
  readonly host: string
  /** Where others reach it; empty: `host`. */
  readonly address: string
  readonly port: number
  readonly routers: readonly string[]
  readonly clusterSecret: string
  /** Where dcacenter asks for figures; left out where there are none. */
  readonly statsPort?: number
}

/** A front, and what it works with. */
export interface FrontParts {
  /** Its metrics carry the name of the service. */
  readonly service: string
  readonly role: string
  readonly settings: FrontSettings
  readonly store: Store
  readonly logger: Logger
  readonly metrics: Metrics
  readonly clock: Clock
  readonly random: Random
  /** Of the heartbeat; always ready when it is left out. */
  state?(): NodeState
  /** `call:NAME` commands, each once. */
  readonly onCall?: CallHandler
  /** Verdicts about abuse, as routers hand them on. */
  readonly onAbuseVerdicts?: (batch: AbuseVerdictBatch) => void
  /** Makes a link; another one in a simulation. */
  readonly dial?: typeof createDialer
}

/** A part of a service (packages/runtime). */
export interface FrontPart {
  readonly name: string
  start(): Promise<void> | void
  stop(): Promise<void> | void
  ready?(): boolean
  readonly limits?: Readonly<Record<string, unknown>>
}

/** A front. `parts` come after the store and before what serves; `heartbeat` after it: then others may come. */
export interface Front {
  readonly mirror: Mirror
  readonly links: FrontLinks
  readonly parts: readonly FrontPart[]
  readonly heartbeat: FrontPart
  /** Says at once what has changed, without waiting for the next heartbeat. */
  beat(): Promise<void>
}

/** Makes a front; its parts begin it. */
export function createFront(parts: FrontParts): Front {
  const { service, role, settings, store, logger, metrics, clock, random, onCall, onAbuseVerdicts, dial } = parts
  const { nodeId, clusterSecret, routers } = settings
  const mirror = new Mirror({ service }, { catalog: new CatalogStore(store), logger, clock, metrics })
  const loop = new LoopDelay({ clock })
  const links = new FrontLinks(
    { service, nodeId, role, clusterSecret, routers },
    {
      ...{ mirror, loop, logger, metrics, clock, random },
      ...(onCall && { onCall }),
      ...(onAbuseVerdicts && { onAbuseVerdicts }),
      ...(dial && { dial }),
    },
  )
  const { address, statsAddress } = addressesOf(settings)
  const heartbeat = heartbeatLoop(new Nodes(store), () => ({
    ...{ id: nodeId, role, state: parts.state?.() ?? 'ready', address, statsAddress },
    ...{ revision: mirror.revision, digest: mirror.digest, at: clock.now() },
  }))
  return {
    mirror,
    links,
    parts: [
      { name: 'catalog', start: () => mirror.start(), stop: () => mirror.stop(), ready: () => mirror.isLoaded },
      { name: 'loop delay', start: () => loop.start(), stop: () => loop.stop() },
      { name: 'routers', start: () => links.start(), stop: () => links.stop(), limits: links.limits },
    ],
    heartbeat: { name: 'heartbeat', start: () => heartbeat.start(), stop: () => heartbeat.stop() },
    beat: () => heartbeat.beat(),
  }
}

function addressesOf({ host, address, port, statsPort }: FrontSettings): { address: string; statsAddress: string } {
  const reachable = address === '' ? host : address
  return {
    address: `${reachable}:${port}`,
    statsAddress: statsPort === undefined ? '' : `${reachable}:${statsPort}`,
  }
}
