/** A Middle node as its main.ts puts it together. */

import { createMirror } from '@bigtap/catalog'
import { MiddleNode } from '@bigtap/middle/middle-node'
import { CatalogStore, type Grant, GrantLog, Guards, heartbeatLoop, Nodes, type Store } from '@bigtap/store'
import type { SimProcess } from '../world/process.ts'
import { addressOf, contextOf, POLL_MS, REDIS_MS, type Site } from './site.ts'

const LIMITS = { recordsMax: 1_024, pendingMax: 256, waitingMax: 256, rereadsMax: 32, asksPerFrameMax: 512 }

/** A front as the end of a run looks at it. */
export interface Front {
  readonly process: SimProcess
  readonly mirror: { readonly revision: number; readonly digest: string }
}

/** Starts a Middle node. */
export function startMiddle(site: Site, id: string): Front & { leave(): void } {
  const { world, redis, hub, ring, mistakes } = site
  const process = world.spawn(id, 'middle')
  const context = contextOf(site, process)
  const store = redis.connect(process, REDIS_MS)
  const mirror = createMirror({ service: 'middle', pollMs: POLL_MS }, { ...context, catalog: new CatalogStore(store) })
  const log = mistakes.logBeforeReply ? new HastyGrantLog(store) : new GrantLog(store, new Guards(store))
  const node = new MiddleNode(
    { nodeId: id, ...LIMITS },
    { ...context, catalog: mirror, log, ring, isCatalogLoaded: () => mirror.isLoaded },
  )
  mirror.onChange(() => node.applyCatalog())
  const heartbeat = heartbeatLoop(new Nodes(store), () => ({
    ...{ id, role: 'middle', state: node.state, statsAddress: '', address: addressOf(id) },
    ...{ revision: mirror.revision, digest: mirror.digest, at: process.clock.now() },
  }))
  hub.listen(addressOf(id), process, {
    onFrame: (link, kind, _correlation, body) => node.onFrame(link, kind, body),
    onClose: (link) => node.desk.onClose(link),
  })
  world.runIn(process, () => {
    void mirror.start()
    node.start()
    heartbeat.start()
  })
  return { process, mirror, leave: () => world.runIn(process, () => node.leave()) }
}

/** The mistake "log before reply": says that grants are written before they are. */
class HastyGrantLog extends GrantLog {
  constructor(store: Store) {
    super(store, new Guards(store))
  }

  override async grant(...[who, grants]: Parameters<GrantLog['grant']>): ReturnType<GrantLog['grant']> {
    super.grant(who, grants).catch(() => undefined) // the mistake is not to wait for it
    return grants.map((_: Grant) => 'written' as const)
  }
}
