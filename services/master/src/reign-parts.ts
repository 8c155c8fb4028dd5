/** What a reign is made of, put together but not begun. */

import type { Reigning } from '@bigtap/db'
import {
  PRESSURE_KEY,
  parsePressureDoc,
  parseSharesDoc,
  parseSlotTableDoc,
  SHARES_KEY,
  SLOTS_KEY,
} from '@bigtap/domain'
import { AbuseBoard, AnswerBox, type DocumentChange, PressureBoard, type PublishedDocument } from '@bigtap/store'
import { AbuseDocuments } from './abuse-documents.ts'
import { Book } from './book.ts'
import { CatalogPublisher } from './catalog-publisher.ts'
import { recallCatalog } from './catalog-recall.ts'
import { ConfigGate } from './config-gate.ts'
import { createControl } from './control.ts'
import { Alarms } from './core/alarms.ts'
import { DocumentHistory } from './document-history.ts'
import { allDocuments } from './documents.ts'
import { createAdminApp } from './http/admin-app.ts'
import { LiveStream } from './http/live-stream.ts'
import type { Sessions } from './http/session.ts'
import { Keepers } from './keepers.ts'
import { LedgerOpener } from './ledger-opener.ts'
import { LedgerWatch } from './ledger-watch.ts'
import { Loader } from './loader.ts'
import type { MasterParts, MasterSettings } from './master.ts'
import { NodeWatch } from './node-watch.ts'
import { PolicyDesk } from './policy-desk.ts'
import { PolicyHistory } from './policy-history.ts'
import { recallTriggers } from './policy-keeping.ts'
import { PressureKeeping } from './pressure-keeping.ts'
import { RecordKeeper } from './record-keeper.ts'
import { RouterLinks } from './router-links.ts'
import { type ActivityFields, SaleDesk } from './sale-desk.ts'
import { SaleTrial } from './sale-trial.ts'
import { SaleView } from './sale-view.ts'
import { ShareKeeping } from './share-keeping.ts'
import { SlotKeeping } from './slot-keeping.ts'
import { StockDesk } from './stock-desk.ts'
import { VerdictDesk } from './verdict-desk.ts'
import type { Warehouse } from './warehouse.ts'

/** What a reign gets besides master's own collaborators. */
export interface ReignParts extends MasterParts {
  readonly sessions: Sessions
  readonly warehouse: Warehouse | undefined
  /** May this reign still act, by the lease and our own clock? */
  mayAct(): boolean
  /** The reign cannot go on: the leadership is to be given up. `above`: the next epoch must be above this one. */
  onOver(reason: string, above?: number): void
}

const SIGN_OUTS_SETTING = 'sessions.signedOut'

/** All parts of one reign; the record is changed only while its epoch is the newest. */
export function makeReign(settings: MasterSettings, given: ReignParts, reigning: Reigning) {
  const parts = { ...given, db: given.db.fencedBy(reigning) }
  const { db, clock, logger } = parts
  const book = new Book()
  const publishing = makePublishing(settings, { ...parts, book }, reigning.epoch)
  const { alarms, publisher, links, watch, slots, pressure } = publishing
  const record = new RecordKeeper({ db, book, publisher, logger })
  const loader = new Loader({ databaseUrl: settings.databaseUrl, reigning }, { ...parts, book, publisher })
  const ledgers = new LedgerWatch(parts)
  const opener = new LedgerOpener(parts)
  const keepers = new Keepers(settings, { ...parts, book, publisher, record, opener, watch, alarms, ledgers })
  publishing.onPublished((revision, changes) => keepers.onPublished(revision, changes))
  const gate = new ConfigGate({ ...parts, links, watch, alarms })
  const trial = new SaleTrial({ gate, publisher, record, clock })
  const histories = {
    policies: new PolicyHistory(parts),
    versions: new DocumentHistory<{ fields: ActivityFields }>('activity', parts),
  }
  const deskParts = { ...parts, ...histories, book, publisher, keepers, record, watch, trial }
  const desk = new SaleDesk({ ...deskParts, loader: { isLoaded: true } }) // it is asked only after the reign has begun
  const policies = new PolicyDesk(desk)
  const view = new SaleView({ ...parts, book, nodes: () => watch.list(), leaderId: settings.nodeId })
  const control = createControl(settings, {
    ...{ ...parts, desk, policies, view, book, alarms, links, publisher, ledgers, record },
  })
  const shares = new ShareKeeping({ ...parts, watch, book, publisher })
  publishing.sources.push(() => shares.documents())
  const stream = new LiveStream(() => view.live(), logger)
  const signOuts = signOutsOf(parts)
  const stock = new StockDesk(settings, desk)
  const audit = db.audit.append.bind(db.audit)
  const verdicts = new VerdictDesk({
    ...{ ...parts, links, watch, audit },
    ...{ board: new AbuseBoard(parts.store), answers: new AnswerBox(parts.store) },
  })
  const abuse = new AbuseDocuments({ ...parts, publisher, trial, audit })
  publishing.sources.push(() => abuse.documents())
  const app = createAdminApp({ ...parts, desk, stock, policies, signOuts, view, stream, control, verdicts, abuse })
  /** What the catalog in Redis knows better than the record. */
  const recall = (documents: readonly PublishedDocument[]) => {
    recallCatalog(book, documents)
    recallTriggers(book, documents)
    const bodyOf = (key: string) => documents.find((document) => document.key === key)?.body
    const [table, factor] = [parseSlotTableDoc(bodyOf(SLOTS_KEY)), parsePressureDoc(bodyOf(PRESSURE_KEY))]
    if (table.ok) slots.recall(table.value)
    if (factor.ok) pressure.recall(factor.value)
    const shared = parseSharesDoc(bodyOf(SHARES_KEY))
    if (shared.ok) shares.recall(shared.value)
  }
  return {
    book,
    alarms,
    publisher,
    links,
    watch,
    record,
    slots,
    pressure,
    shares,
    loader,
    keepers,
    desk,
    view,
    stream,
    signOuts,
    app,
    control,
    abuse,
    gate,
    recall,
  }
}

/** The way to the fronts: the catalog, the routers, and who has applied what. */
function makePublishing(settings: MasterSettings, parts: ReignParts & { readonly book: Book }, epoch: number) {
  const { book, clock, logger, mayAct, catalog } = parts
  const alarms = new Alarms()
  type OnPublished = ConstructorParameters<typeof CatalogPublisher>[0]['onPublished']
  const listeners: OnPublished[] = []
  const sources: (() => DocumentChange[])[] = []
  const publisher: CatalogPublisher = new CatalogPublisher({
    ...{ catalog, logger, epoch, mayAct },
    allDocuments: () => [
      ...pressure.documents(),
      ...sources.flatMap((documents) => documents()),
      ...allDocuments(book.sales.values(), slots.table),
    ],
    onPublished: (revision, changes) => {
      links.publish(changes, revision)
      for (const listener of listeners) listener(revision, changes)
      for (const { key } of changes) alarms.clear(`document:${key}`, clock.now())
    },
    onRefused: (key, errors) => {
      logger.error({ key, errors }, 'a document is not published')
      const message = `document ${key} failed its checks, the one before stands`
      alarms.raise({ key: `document:${key}`, severity: 'critical', message, data: { errors } }, clock.now())
    },
  })
  const links = new RouterLinks({ ...settings, epoch }, { ...parts, head: () => publisher.lastRevision })
  const watch = new NodeWatch({ ...parts, links, alarms })
  const slots = new SlotKeeping({ ...parts, publisher, watch })
  const pressure = new PressureKeeping({ ...parts, board: new PressureBoard(parts.store), publisher })
  const onPublished = (listener: OnPublished) => void listeners.push(listener)
  return { alarms, publisher, links, watch, slots, pressure, onPublished, sources }
}

function signOutsOf({ db }: Pick<MasterParts, 'db'>) {
  return {
    load: async () => ((await db.definitions.getSetting(SIGN_OUTS_SETTING)) ?? {}) as Record<string, number>,
    save: (signedOut: Readonly<Record<string, number>>) => db.definitions.setSetting(SIGN_OUTS_SETTING, signedOut),
  }
}
