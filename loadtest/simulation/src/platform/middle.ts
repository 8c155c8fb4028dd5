/** A Middle node as its main.ts puts it together. */

import { MiddleNode } from '@bigtap/middle/middle-node'
import { type Grant, GrantLog, Guards, type Store } from '@bigtap/store'
import { type Front, makeFront } from './front.ts'
import { addressOf, contextOf, REDIS_MS, type Site } from './site.ts'

const LIMITS = { recordsMax: 1_024, pendingMax: 256, waitingMax: 256, rereadsMax: 32, asksPerFrameMax: 512 }

/** Starts a Middle node. */
export function startMiddle(site: Site, id: string): Front & { leave(): void } {
  const { world, redis, hub, ring, mistakes } = site
  const process = world.spawn(id, 'middle')
  const context = contextOf(site, process)
  const store = redis.connect(process, REDIS_MS)
  const front = makeFront(process, store, context, () => node.state)
  const { mirror } = front
  const log = mistakes.logBeforeReply ? new HastyGrantLog(store) : new GrantLog(store, new Guards(store))
  const node = new MiddleNode(
    { nodeId: id, ...LIMITS },
    { ...context, catalog: mirror, log, ring, isCatalogLoaded: () => mirror.isLoaded },
  )
  mirror.onChange(() => node.applyCatalog())
  hub.listen(addressOf(id), process, {
    onFrame: (link, kind, _correlation, body) => node.onFrame(link, kind, body),
    onClose: (link) => node.desk.onClose(link),
  })
  world.runIn(process, () => {
    front.start()
    node.start()
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
