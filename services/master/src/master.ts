/** Puts master together: the book in memory, the keepers that work from it, and the admin API before it. */

import type { Db } from '@bigtap/db'
import type { Clock, Logger, Metrics, Random } from '@bigtap/kernel'
import type { Part } from '@bigtap/runtime'
import type { CatalogStore, Ledger, Nodes, Store } from '@bigtap/store'
import { Book } from './book.ts'
import { CatalogPublisher } from './catalog-publisher.ts'
import { LOGIN_LIMITS } from './core/login-guard.ts'
import { parseNodes } from './core/slot-plan.ts'
import { allDocuments } from './documents.ts'
import { parseAccounts, plainAccount } from './http/accounts.ts'
import { createAdminServer } from './http/admin-server.ts'
import { EDGE_LIMITS } from './http/edge.ts'
import { LiveStream, STREAM_LIMITS } from './http/live-stream.ts'
import { Sessions } from './http/session.ts'
import { Keepers } from './keepers.ts'
import { LedgerOpener } from './ledger-opener.ts'
import { Loader } from './loader.ts'
import { PolicyDesk } from './policy-desk.ts'
import { PolicyHistory, VERSIONS_MAX } from './policy-history.ts'
import { AUDIT_WAITING_MAX, RecordKeeper } from './record-keeper.ts'
import { CHANGES_WAITING_MAX, SaleDesk } from './sale-desk.ts'
import { SaleView } from './sale-view.ts'
import { CONFIRM_LIMITS, StockDesk } from './stock-desk.ts'

/** Settings of master (see config.ts). */
export interface MasterSettings {
  readonly host: string
  readonly port: number
  readonly databaseUrl: string
  readonly tokenSecret: string
  readonly operatorPassword: string
  readonly operators: string | undefined
  readonly middleNodes: readonly string[]
  readonly preloadMs: number
  readonly confirmUnits: number
  readonly consoleDir: string | undefined
}

/** Collaborators. */
export interface MasterParts {
  readonly db: Db
  readonly store: Store
  readonly ledger: Ledger
  readonly catalog: CatalogStore
  readonly nodes: Nodes
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: Metrics
}

/** Master, not started yet. Throws BAD_NODES or BAD_OPERATORS. */
export function createMaster(settings: MasterSettings, parts: MasterParts) {
  const { db, store, ledger, clock, logger } = parts
  const book = new Book()
  const publisher: CatalogPublisher = new CatalogPublisher({
    ...parts,
    allDocuments: () => allDocuments(book.sales.values(), loader.slots),
    onPublished: (revision, keys) => keepers.onPublished(revision, keys),
  })
  const record = new RecordKeeper({ db, book, publisher, logger })
  const loaderSettings = { databaseUrl: settings.databaseUrl, nodes: parseNodes(settings.middleNodes) }
  const loader: Loader = new Loader(loaderSettings, { ...parts, book, publisher })
  const keepers: Keepers = new Keepers(settings, { ...parts, book, publisher, record, opener: new LedgerOpener(parts) })
  const policies = new PolicyHistory(db, clock)
  const desk = new SaleDesk({ db, store, ledger, book, publisher, keepers, record, policies, clock, loader })
  const view = new SaleView({ db, store, ledger, book, clock, nodes: () => keepers.nodes })
  const stream = new LiveStream(() => view.live(), logger)
  const operator = plainAccount('operator', 'operator', settings.operatorPassword)
  const accounts = [operator, ...parseAccounts((settings.operators ?? '').split(',').filter((item) => item !== ''))]
  const sessions = new Sessions({ accounts, secret: settings.tokenSecret, clock })
  const stock = new StockDesk(settings, desk)
  const server = createAdminServer(settings, {
    ...{ desk, stock, policies: new PolicyDesk(desk), sessions, db, view, stream, logger },
  })
  const lifecycle: Part[] = [
    { name: 'definitions', ready: () => loader.isLoaded, ...loading(loader, keepers, record, logger) },
    { name: 'catalog', ready: () => publisher.isSettled },
    { name: 'admin', start: async () => void (await server.start()), stop: () => server.stop(), limits: limitsOf() },
  ]
  return { parts: lifecycle, server, keepers, book, publisher, debug: () => [...book.sales.values()] }
}

/** The keepers begin when everything is loaded; the admin API answers 503 until then. */
function loading(loader: Loader, keepers: Keepers, record: RecordKeeper, logger: Logger): Pick<Part, 'start' | 'stop'> {
  return {
    start: () => void loader.run().then(() => loader.isLoaded && keepers.start()),
    stop: async () => {
      loader.stop()
      keepers.stop()
      if (loader.isLoaded) await record.save().catch((error: unknown) => logger.warn({ error }, 'not all is stored'))
    },
  }
}

function limitsOf(): Record<string, unknown> {
  const others = {
    changesWaitingMax: CHANGES_WAITING_MAX,
    auditWaitingMax: AUDIT_WAITING_MAX,
    policyVersionsMax: VERSIONS_MAX,
  }
  return { edge: EDGE_LIMITS, stream: STREAM_LIMITS, login: LOGIN_LIMITS, confirm: CONFIRM_LIMITS, ...others }
}
