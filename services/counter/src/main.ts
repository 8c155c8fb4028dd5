/** Composition root of the counter. */

import { createFront } from '@bigtap/catalog'
import { createDb } from '@bigtap/db'
import { isLayerShut } from '@bigtap/domain'
import { openEventLog } from '@bigtap/eventlog'
import { createWorker, runService, watchProcess } from '@bigtap/runtime'
import { connectStore, createFigurePush, Ledger, NameLease, PUSH_EVERY_MS, pressureWork } from '@bigtap/store'
import { createServer } from '@bigtap/transport'
import { CallGatherer } from './call-gatherer.ts'
import { settings as spec } from './config.ts'
import { RecentOrders } from './core/recent-orders.ts'
import { createKeepers } from './keepers.ts'
import { createLedgerServer } from './ledger-server.ts'
import { declareMetrics } from './metrics.ts'
import { Rebuilder } from './rebuilder.ts'
import { counterFigures } from './stats.ts'

const CONNECT_MS_MAX = 20_000
const REBUILD_LEASE_MS = 10_000

await runService('counter', spec, (context) => {
  const { settings, logger, metrics, clock, page } = context
  const store = connectStore({ url: settings.redisUrl, commandMsMax: settings.redisMsMax }, { logger })
  const ledger = new Ledger(store)
  const front = createFront({ ...context, service: 'counter', role: 'counter', store })
  const { mirror } = front
  const db = createDb({ url: settings.databaseUrl, poolMax: 4 }, { clock, logger })
  const eventLog = openEventLog(settings, { logger })
  const recent = new RecentOrders(settings.recentMax)
  const lease = new NameLease(store, { name: 'rebuild', owner: settings.nodeId, ttlMs: REBUILD_LEASE_MS })
  const activities = () => mirror.activities().values()
  const rebuilder = new Rebuilder({ store, ledger, db, recent, lease, clock, logger, activities })
  const gatherer = new CallGatherer(settings, {
    ledger,
    isShut: (activityId) => isLayerShut(mirror.activity(activityId), 'counter'),
    monotonic: () => clock.monotonic(),
    onReply: (activityId, { order }) => order && recent.add(activityId, order),
    onFault: (activityId, error) => logger.debug({ activityId, error }, 'a batch had no answer'),
  })
  const { grants, loops } = createKeepers(settings, {
    ...{ store, ledger, eventLog, logger, activities },
    currencyOf: (activityId, skuId) => mirror.sku(activityId, skuId)?.currency ?? '',
    onOrder: (activityId, order) => recent.add(activityId, order),
  })
  const { seconds } = declareMetrics(metrics, { gatherer, recent, rebuilder, grants })
  const onFrame = createLedgerServer({ gatherer, clock, onSeconds: (value) => seconds.observe(value) })
  const server = createServer(
    { ...settings, role: 'counter' },
    { ...context, onFrame: (link, kind, _id, body) => onFrame(link, kind, body), inFlight: () => gatherer.waiting },
  )
  const readOwn = () => counterFigures({ gatherer, ledger, activities, logger })
  const push = { ...settings, role: 'counter', store, clock, catalog: mirror, readProcess: watchProcess(), readOwn }
  page('/debug/rebuilds', () => rebuilder.history)
  const verify = { name: 'verifier', everyMs: settings.verifyMs, work: () => rebuilder.round() }
  const waits = { ...settings, role: 'counter', readWaitMs: () => gatherer.takeWaitMs() }
  return [
    { name: 'redis', start: () => store.waitUntilReady(CONNECT_MS_MAX), stop: () => store.close() },
    { name: 'database', stop: () => db.close() },
    { name: 'event log', stop: () => eventLog.close() },
    ...front.parts,
    createWorker(verify, logger),
    createWorker(pressureWork(store, waits), logger),
    createWorker({ name: 'figures', everyMs: PUSH_EVERY_MS, work: createFigurePush(push) }, logger),
    ...loops,
    { name: 'links', start: async () => void (await server.start()), stop: () => server.stop(), limits: server.limits },
    { name: 'calls', limits: { waitingMax: settings.waitingMax, recentMax: settings.recentMax } },
    front.heartbeat,
  ]
})
