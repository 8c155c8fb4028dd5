/** Composition root of the order service. */

import { createHmac } from 'node:crypto'
import { createFront } from '@bigtap/catalog'
import { createDb, migrate } from '@bigtap/db'
import { openEventLog } from '@bigtap/eventlog'
import { createWorker, runService, watchProcess } from '@bigtap/runtime'
import { connectStore, createFigurePush, Ledger, PUSH_EVERY_MS, pressureWork } from '@bigtap/store'
import { LedgerClient } from '@bigtap/transport'
import { settings as spec } from './config.ts'
import { IntakeAge } from './intake-age.ts'
import { declareMetrics } from './metrics.ts'
import { createIntake } from './order-intake.ts'
import { createOrderService } from './order-service.ts'
import { createOpener } from './record-opener.ts'
import { refundRound } from './refunder.ts'

const MERGE_MAX = 128
const LAG_MS = 1_000

await runService('order', spec, (context) => {
  const { settings, logger, metrics, clock, page } = context
  const { host, port, databaseUrl, batchMax, refundAfterMs } = settings
  const db = createDb({ url: databaseUrl, connectMs: settings.databaseWaitMs }, { clock, logger })
  const store = connectStore({ url: settings.redisUrl, commandMsMax: settings.redisMsMax }, { logger })
  const front = createFront({ ...context, service: 'order', role: 'order', store })
  const { mirror } = front
  const log = openEventLog(settings, { logger })
  const consumer = log.consumer({ topic: 'orders', group: 'order', recordsMax: batchMax })
  const counter = new LedgerClient(
    { ...settings, role: 'order', address: settings.counterAddress, mergeMax: MERGE_MAX },
    context,
  )
  let lag = 0
  const counts = declareMetrics(metrics, { last: () => reconciler.last, lag: () => lag })
  const sign = (text: string) => createHmac('sha256', settings.paymentSecret).update(text).digest('hex')
  const { app, sandbox, reconciler, limits } = createOrderService(
    { ...settings },
    { ...context, db, store, mirror, counter, counts, sign, ledger: new Ledger(store) },
  )
  let stored = 0
  const onStored = (count: number) => {
    stored += count
    counts.stored.inc(count)
  }
  const age = new IntakeAge(clock)
  const intake = createIntake({ db, logger, onStored, onDeadLetter: () => counts.deadLetters.inc(), age })
  const open = async () => {
    await migrate(databaseUrl).then(() => db.warm())
    await consumer.run(intake)
  }
  const worker = (name: string, everyMs: number, work: () => Promise<unknown>) =>
    createWorker({ name, everyMs, work }, logger)
  const readLag = async () => {
    lag = await consumer.lag()
  }
  const readOwn = () => ({ figures: { lag, stored, differences: reconciler.last.differences.length } })
  const push = { ...settings, role: 'order', store, clock, catalog: mirror, readProcess: watchProcess(), readOwn }
  const waits = { ...settings, role: 'order', readWaitMs: () => age.takeMs() }
  page('/debug/reconciliation', () => reconciler.last)
  page('/debug/dead-letters', async () =>
    (await db.deadLetters.list({ limit: 50 })).map(({ value, key, ...letter }) => ({ ...letter, bytes: value.length })),
  )
  return [
    { name: 'database', stop: () => db.close() },
    { name: 'redis', stop: () => store.close(), ready: () => store.ready() },
    ...front.parts,
    { name: 'ledger', start: () => counter.start(), stop: () => counter.stop(), limits: counter.dialer.limits },
    { name: 'event log', stop: () => log.close(), limits: { batchMax } },
    { ...createOpener({ open, logger }), name: 'record' },
    worker('lag', LAG_MS, readLag),
    createWorker(pressureWork(store, waits), logger),
    worker('figures', PUSH_EVERY_MS, createFigurePush(push)),
    worker('reconciler', settings.reconcileMs, () => reconciler.round()),
    worker('refunds', settings.refundMs, () => refundRound(db, { now: clock.now(), afterMs: refundAfterMs })),
    { name: 'sandbox', stop: () => sandbox.stop(), limits: sandbox.limits },
    { name: 'edge', start: async () => void (await app.listen({ host, port })), stop: () => app.close(), limits },
    front.heartbeat,
  ]
})
