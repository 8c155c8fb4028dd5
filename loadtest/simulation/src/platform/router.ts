/** A router as its main.ts puts it together. */

import { Router } from '@bigtap/mdw-router/router'
import { heartbeatLoop, Nodes } from '@bigtap/store'
import type { SimProcess } from '../world/process.ts'
import { addressOf, contextOf, REDIS_MS, type Site } from './site.ts'

/** Starts a router. */
export function startRouter(site: Site, id: string): { process: SimProcess } {
  const { world, redis, hub } = site
  const process = world.spawn(id, 'mdw-router')
  const context = contextOf(site, process)
  const settings = { host: id, port: 8000, nodeId: id, clusterSecret: 'simulation', linksMax: 64 }
  const router = new Router(settings, { ...context, listen: hub.serverOf(addressOf(id), process) })
  const heartbeat = heartbeatLoop(new Nodes(redis.connect(process, REDIS_MS)), () => ({
    ...{ id, role: 'mdw-router', state: 'ready' as const, statsAddress: '', address: addressOf(id) },
    ...{ revision: router.head, digest: '', at: process.clock.now() },
  }))
  world.runIn(process, () => {
    void router.start()
    heartbeat.start()
  })
  return { process }
}
