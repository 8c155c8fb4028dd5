/** Composition root of the cart: edge → token → merged calls of the counter. */

import { createFront } from '@bigtap/catalog'
import { isLayerShut } from '@bigtap/domain'
import { createEdge, EDGE_LIMITS } from '@bigtap/http'
import { createWorker, runService, watchProcess } from '@bigtap/runtime'
import { connectStore, createFigurePush, PUSH_EVERY_MS, pressureWork } from '@bigtap/store'
import { createKeyRing } from '@bigtap/token'
import { LedgerClient } from '@bigtap/transport'
import { settings as spec } from './config.ts'
import { addCartRoutes } from './routes.ts'
import { TimedLedger } from './timed-ledger.ts'

const STORE_MS_MAX = 1_000

await runService('cart', spec, (context) => {
  const { settings, logger, clock, metrics } = context
  const { host, port, nodeId, deadlineMs, callsMax, mergeMax, connectionsMax } = settings
  const ring = createKeyRing({ current: settings.tokenSecret, previous: settings.tokenSecretPrevious })
  const ledger = new LedgerClient(
    {
      address: settings.counterAddress,
      nodeId,
      role: 'cart',
      clusterSecret: settings.clusterSecret,
      deadlineMs,
      callsMax,
      mergeMax,
    },
    context,
  )
  const edgeLimits = { ...EDGE_LIMITS, connectionsMax }
  const app = createEdge(edgeLimits, context)
  const isShut = (activityId: number) => isLayerShut(front.mirror.activity(activityId), 'cart')
  const timed = new TimedLedger({ deadlineMs }, { ledger, clock })
  addCartRoutes(app, { ring, ledger: timed, isShut, clock, metrics })

  const store = connectStore({ url: settings.redisUrl, commandMsMax: STORE_MS_MAX }, { logger })
  const front = createFront({ ...context, service: 'cart', role: 'cart', store })

  const readOwn = () => ({ figures: { queueDepth: ledger.inFlight } })
  const push = { role: 'cart', nodeId, store, clock, catalog: front.mirror, readProcess: watchProcess(), readOwn }

  const waits = { ...settings, role: 'cart', readWaitMs: () => timed.takeCallMs() }

  return [
    {
      name: 'ledger client',
      start: () => ledger.start(),
      stop: () => ledger.stop(),
      ready: () => ledger.dialer.state === 'ready',
      limits: { deadlineMs, callsMax, mergeMax, ...ledger.dialer.limits },
    },
    { name: 'store', stop: () => store.close() },
    ...front.parts,
    {
      name: 'edge',
      start: async () => void (await app.listen({ host, port })),
      stop: () => app.close(),
      limits: { ...edgeLimits },
    },
    front.heartbeat,
    createWorker(pressureWork(store, waits), logger),
    createWorker({ name: 'figures', everyMs: PUSH_EVERY_MS, work: createFigurePush(push) }, logger),
  ]
})
