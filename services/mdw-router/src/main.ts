/** Composition root of mdw-router: links of fronts and masters, heartbeat. */

import { createWorker, runService, watchProcess } from '@bigtap/runtime'
import { connectStore, createFigurePush, heartbeatLoop, Nodes, PUSH_EVERY_MS } from '@bigtap/store'
import { settings as spec } from './config.ts'
import { Router } from './router.ts'

const STORE_MS_MAX = 1_000

await runService('mdw-router', spec, (context) => {
  const { settings, logger, clock } = context
  const { nodeId, host, port, address } = settings
  const router = new Router(settings, context)
  const store = connectStore({ url: settings.redisUrl, commandMsMax: STORE_MS_MAX }, { logger })
  const heartbeat = heartbeatLoop(new Nodes(store), () => ({
    ...{ id: nodeId, role: 'mdw-router', state: 'ready', statsAddress: '' },
    ...{ address: `${address === '' ? host : address}:${port}`, revision: router.head, digest: '', at: clock.now() },
  }))
  const readOwn = () => ({ figures: router.figures() })
  const push = createFigurePush({ role: 'mdw-router', nodeId, store, clock, readProcess: watchProcess(), readOwn })
  context.page('/debug/nodes', () => router.view())
  return [
    // Redis is only told that this router is there: without it, commands go on.
    { name: 'store', stop: () => store.close() },
    { name: 'links', start: async () => void (await router.start()), stop: () => router.stop(), limits: router.limits },
    createWorker({ name: 'figures', everyMs: PUSH_EVERY_MS, work: push }, logger),
    { name: 'heartbeat', start: () => heartbeat.start(), stop: () => heartbeat.stop() },
  ]
})
