/** Composition root of a Middle node: links → desk → decider → grant log. */

import { createFront } from '@bigtap/catalog'
import { runService, watchProcess } from '@bigtap/runtime'
import { connectStore, GrantLog, Guards } from '@bigtap/store'
import { createKeyRing } from '@bigtap/token'
import { createServer, createStatsResponder } from '@bigtap/transport'
import { createCallHandler } from './calls.ts'
import { settings as spec } from './config.ts'
import { SKUS_MAX } from './core/sku-table.ts'
import { leave } from './leaving.ts'
import { MiddleNode } from './middle-node.ts'
import { middleStats } from './stats.ts'

const REDIS_WAIT_MS = 2_000

await runService('middle', spec, (context) => {
  const { settings, logger, metrics, clock, random } = context
  const { host, port, nodeId, recordsMax, pendingMax, waitingMax, rereadsMax, asksPerFrameMax, linksMax } = settings
  const store = connectStore({ url: settings.redisUrl, commandMsMax: settings.redisMsMax }, { logger })
  const front = createFront({
    ...{ ...context, service: 'middle', role: 'middle', store, state: () => node.state },
    onCall: createCallHandler(() => node, logger),
    settings: { ...settings, statsPort: port },
  })
  const { mirror } = front
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
  const readProcess = watchProcess()
  const readStats = () => {
    const links = [...server.links()].length
    return middleStats(node, { nodeId, now: clock.now(), links, catalog: mirror, process: readProcess() })
  }
  const answerStats = createStatsResponder(readStats, context)
  const server = createServer(
    { host, port, nodeId, role: 'middle', clusterSecret: settings.clusterSecret, linksMax },
    {
      ...{ logger, metrics, clock, random },
      onFrame: (link, kind, correlation, body) =>
        void (answerStats(link, kind, correlation) || node.onFrame(link, kind, body)),
      onClose: (link) => node.desk.onClose(link),
      inFlight: () => node.desk.waiting,
    },
  )
  context.page('/debug/skus', () => node.view())

  return [
    {
      name: 'store',
      // Without Redis the node comes up all the same, and answers `unavailable`.
      start: () => store.waitUntilReady(REDIS_WAIT_MS).catch(() => undefined),
      stop: () => store.close(),
      ready: () => store.ready(),
    },
    ...front.parts,
    {
      name: 'node',
      start: () => node.start(),
      stop: () => node.stop(),
      ready: () => node.isServing,
      limits: { ...limits, skusMax: SKUS_MAX },
    },
    { name: 'links', start: async () => void (await server.start()), stop: () => server.stop(), limits: server.limits },
    front.heartbeat,
    { name: 'slots', stop: () => leave(node, { ...context, beat: front.beat }) },
  ]
})
