/** Composition root of master. */

import { createDb } from '@bigtap/db'
import { openEventLog } from '@bigtap/eventlog'
import { createWorker, runService, watchProcess } from '@bigtap/runtime'
import {
  CatalogStore,
  connectFigures,
  connectStore,
  createFigurePush,
  Ledger,
  Nodes,
  PUSH_EVERY_MS,
  Reservations,
} from '@bigtap/store'
import { settings as spec } from './config.ts'
import { createMaster } from './master.ts'

const STORE_MS_MAX = 1_000

await runService('master', spec, (context) => {
  const { settings, logger, clock, page } = context
  const store = connectStore({ url: settings.redisUrl, commandMsMax: STORE_MS_MAX }, { logger })
  const db = createDb(
    { url: settings.databaseUrl, poolMax: 6, connectMs: 1_000, statementMs: 3_000 },
    { clock, logger },
  )
  const log = openEventLog(settings, { logger })
  const figures = connectFigures({ url: settings.dcacenterUrl }, { logger })
  const master = createMaster(settings, {
    ...context,
    ...{ figures, verdictTopic: log.producer(), reservations: new Reservations(store) },
    ...{ store, db, ledger: new Ledger(store), catalog: new CatalogStore(store), nodes: new Nodes(store) },
  })
  page('/debug/sales', () => master.debug())
  const { nodeId } = settings
  const readOwn = () => master.figures()
  const push = createFigurePush({ role: 'master', nodeId, store, clock, readProcess: watchProcess(), readOwn })
  return [
    { name: 'redis', ready: () => store.ready(), stop: () => store.close() },
    { name: 'database', stop: () => db.close() },
    { name: 'event log', stop: () => log.close() },
    { name: 'figures', stop: async () => figures.close() },
    ...master.parts,
    createWorker({ name: 'own figures', everyMs: PUSH_EVERY_MS, work: push }, logger),
  ]
})
