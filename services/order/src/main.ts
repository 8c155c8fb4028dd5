/** Composition root of the order service. */

import { createHmac } from 'node:crypto'
import { Mirror } from '@bigtap/catalog'
import { createDb, migrate } from '@bigtap/db'
import { openEventLog } from '@bigtap/eventlog'
import { runService } from '@bigtap/runtime'
import { CatalogStore, connectStore, heartbeatLoop, Ledger, Nodes } from '@bigtap/store'
import { createKeyRing } from '@bigtap/token'
import { LedgerClient } from '@bigtap/transport'
import { settings as spec } from './config.ts'
import { createEdge, EDGE_LIMITS } from './http/edge.ts'
import { declareMetrics } from './metrics.ts'
import { OrderDesk } from './order-desk.ts'
import { createIntake } from './order-intake.ts'
import { PaymentDesk } from './payment-desk.ts'
import { Reconciler } from './reconciler.ts'
import { refundRound } from './refunder.ts'
import { addOrderRoutes } from './routes.ts'
import { Sandbox } from './sandbox.ts'
import { createWorker } from './worker.ts'

const MERGE_MAX = 128

await runService('order', spec, (context) => {
  const { settings, logger, metrics, clock, page } = context
  const { nodeId, host, port, publicOrigin } = settings
  const db = createDb({ url: settings.databaseUrl }, { clock, logger })
  const store = connectStore({ url: settings.redisUrl, commandMsMax: settings.redisMsMax }, { logger })
  const catalog = new CatalogStore(store)
  const mirror = new Mirror({ service: 'order', pollMs: 200 }, { catalog, logger, metrics, clock })
  const ledger = new Ledger(store)
  const log = openEventLog(settings, { logger })
  const consumer = log.consumer({ topic: 'orders', group: 'order', recordsMax: settings.batchMax })
  const client = new LedgerClient(
    { ...settings, role: 'order', address: settings.counterAddress, mergeMax: MERGE_MAX },
    context,
  )
  const activityIds = () => mirror.activities().keys()
  const currencyOf = (activityId: number, skuId: number) => mirror.sku(activityId, skuId)?.currency ?? ''
  const desk = new OrderDesk({ db, ledger, activityIds, currencyOf })
  const reconciler = new Reconciler({ db, ledger, activityIds, currencyOf, now: clock.now })
  const counts = declareMetrics(metrics, reconciler)
  const paymentDesk = new PaymentDesk({
    ...{ db, ledger: client, logger, onAlert: () => counts.wrongAmounts.inc() },
    activityOf: (orderId) => desk.activityOf(orderId),
  })
  const sign = (text: string) => createHmac('sha256', settings.paymentSecret).update(text).digest('hex')
  const sandbox = new Sandbox({ callbackUrl: `${publicOrigin}/v1/payments/callback`, sign, now: clock.now, logger })
  const ring = createKeyRing({ current: settings.tokenSecret, previous: settings.tokenSecretPrevious })
  const app = createEdge(EDGE_LIMITS, context)
  addOrderRoutes(app, { ring, desk, paymentDesk, db, ledger: client, sandbox, sign, publicOrigin, now: clock.now })
  const onStored = (count: number) => counts.stored.inc(count)
  const intake = createIntake({ db, logger, onStored, onDeadLetter: () => counts.deadLetters.inc() })
  const worker = (name: string, everyMs: number, work: () => Promise<unknown>) =>
    createWorker({ name, everyMs, work }, logger)
  const beat = heartbeatLoop(new Nodes(store), () => ({
    ...{ id: nodeId, role: 'order', address: `${host}:${port}`, at: clock.now() },
    ...{ revision: mirror.revision, digest: mirror.digest },
  }))
  page('/debug/reconciliation', () => reconciler.last)
  return [
    { name: 'database', start: async () => void (await migrate(settings.databaseUrl)), stop: () => db.close() },
    { name: 'redis', stop: () => store.close(), ready: () => store.ready() },
    { name: 'catalog', start: () => mirror.start(), stop: () => mirror.stop() },
    { name: 'ledger', start: () => client.start(), stop: () => client.stop() },
    {
      name: 'intake',
      start: () => consumer.run(intake),
      stop: () => log.close(),
      limits: { batchMax: settings.batchMax },
    },
    worker('reconciler', settings.reconcileMs, () => reconciler.round()),
    worker('refunds', settings.refundMs, () => refundRound(db)),
    {
      name: 'edge',
      start: async () => void (await app.listen({ host, port })),
      stop: () => app.close(),
      limits: { ...EDGE_LIMITS },
    },
    { name: 'heartbeat', ...beat },
  ]
})
