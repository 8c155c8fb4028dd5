/** Composition root of a Middle node: links → desk → decider → grant log. */

import { Mirror } from '@bigtap/catalog'
import { runService } from '@bigtap/runtime'
import { CatalogStore, connectStore, GrantLog, Guards, heartbeatLoop, Nodes } from '@bigtap/store'
import { createKeyRing } from '@bigtap/token'
import { createServer } from '@bigtap/transport'
import { settings as spec } from './config.ts'
import { SKUS_MAX } from './core/sku-table.ts'
import { leave } from './leaving.ts'
import { MiddleNode } from './middle-node.ts'

const CATALOG_POLL_MS = 200
const REDIS_WAIT_MS = 2_000

await runService('middle', spec, (context) => {
  const { settings, logger, metrics, clock, random } = context
  const { host, port, nodeId, recordsMax, pendingMax, waitingMax, rereadsMax, asksPerFrameMax, linksMax } = settings
  const store = connectStore({ url: settings.redisUrl, commandMsMax: settings.redisMsMax }, { logger })
  const mirror = new Mirror(
    { service: 'middle', pollMs: CATALOG_POLL_MS },
    { catalog: new CatalogStore(store), logger, clock, metrics },
  )
  const limits = { recordsMax, pendingMax, waitingMax, rereadsMax, asksPerFrameMax }
  const node = new MiddleNode(
    { nodeId, queuedPerSecond: settings.queuedPerSecond, ...limits },
    {
      catalog: mirror,
      log: new GrantLog(store, new Guards(store)),
      ring: createKeyRing({ current: settings.tokenSecret, previous: settings.tokenSecretPrevious }),
      clock,
      random,
      logger,
      metrics,
      isCatalogLoaded: () => mirror.isLoaded,
    },
  )
  mirror.onChange(() => node.applyCatalog())
  const server = createServer(
    { host, port, nodeId, role: 'middle', clusterSecret: settings.clusterSecret, linksMax },
    {
      ...{ logger, metrics, clock, random },
      onFrame: (link, kind, _correlation, body) => node.onFrame(link, kind, body),
      onClose: (link) => node.desk.onClose(link),
      inFlight: () => node.desk.waiting,
    },
  )
  const heartbeat = heartbeatLoop(new Nodes(store), () => ({
    ...{ id: nodeId, role: 'middle', state: node.state, statsAddress: '', address: `${host}:${port}` },
    ...{ revision: mirror.revision, digest: mirror.digest, at: clock.now() },
  }))
  context.page('/debug/skus', () => node.view())

  return [
    {
      name: 'store',
      // Without Redis the node comes up all the same, and answers `unavailable`.
      start: () => store.waitUntilReady(REDIS_WAIT_MS).catch(() => undefined),
      stop: () => store.close(),
      ready: () => store.ready(),
    },
    { name: 'catalog', start: () => mirror.start(), stop: () => mirror.stop(), ready: () => mirror.isLoaded },
    {
      name: 'node',
      start: () => node.start(),
      stop: () => node.stop(),
      ready: () => node.isServing,
      limits: { ...limits, skusMax: SKUS_MAX },
    },
    { name: 'links', start: async () => void (await server.start()), stop: () => server.stop(), limits: server.limits },
    { name: 'heartbeat', start: () => heartbeat.start(), stop: () => heartbeat.stop() },
    { name: 'slots', stop: () => leave(node, { ...context, beat: heartbeat.beat }) },
  ]
})
